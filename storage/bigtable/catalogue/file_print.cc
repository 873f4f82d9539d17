#include "storage/bigtable/catalogue/file_print.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace tallyd {
namespace {

std::string HashOf(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string PrintOf(const Family& family) {
  return fmt::format("family {} {} {} {} {} {}\n", family.name, family.max_age_us.value_or(-1),
                     family.max_versions.value_or(0), family.expire_by_both,
                     family.aggregate ? static_cast<int>(*family.aggregate) : 0,
                     family.bucket_us.value_or(-1));
}

std::string PrintOf(const Stream& stream) {
  std::string print = fmt::format("stream {} {}\n", stream.name, ToString(stream.unit));
  std::vector<std::string> labels = stream.labels;
  std::ranges::sort(labels);
  for (const std::string& label : labels) print += fmt::format("label {}\n", label);
  return print;
}

std::string PrintOf(const Table& table) {
  std::string print =
      fmt::format("table {} {} {} {} {} {}\n", table.name, table.stream, ToString(table.pattern),
                  table.row_key.text(), table.time_field, table.keep_row);
  std::vector<std::string> when = table.when;
  std::ranges::sort(when);
  for (const std::string& field : when) print += fmt::format("when {}\n", field);
  for (const ColumnRule& rule : table.columns) {
    const std::string text = CanonicalText(rule);
    print += fmt::format("rule {} {}\n", text.size(), text);
  }
  for (const Family& family : table.families) print += PrintOf(family);
  if (table.daily) {
    print += fmt::format("daily {} {} {}\n", table.daily->name(), table.daily->at_us,
                         table.daily->keep_us.value_or(-1));
  }
  return print;
}

}  // namespace

FilePrint PrintOfFile(const Schema& schema) {
  std::vector<std::string> all;
  std::map<std::string, std::vector<std::string>> streams;
  for (const Stream& stream : schema.streams) {
    streams[stream.name].push_back(all.emplace_back(PrintOf(stream)));
  }
  for (const Table& table : schema.tables) {
    if (table.nightly) continue;  // It is not in the file.
    streams[table.stream].push_back(all.emplace_back(PrintOf(table)));
  }
  std::ranges::sort(all);
  FilePrint print;
  print.all = HashOf(all);
  print.generation = schema.generation;
  for (auto& [name, parts] : streams) {
    std::ranges::sort(parts);
    print.streams[name] = HashOf(parts);
  }
  return print;
}

std::vector<std::string> DifferingStreams(const FilePrint& own, const FilePrint& in_force) {
  std::vector<std::string> names;
  if (own.all == in_force.all) return names;
  for (const auto& [name, print] : own.streams) {
    const auto other = in_force.streams.find(name);
    if (other == in_force.streams.end() || other->second != print) names.push_back(name);
  }
  return names;
}

Status CheckGeneration(const FilePrint& own, const FilePrint& in_force) {
  if (!in_force.generation) return {};
  const bool is_same = own.all == in_force.all;
  if (!own.generation) {
    if (is_same) return {};
    return Error(ErrorCode::kConflict,
                 fmt::format("storage.bigtable.generation: is not said, and another daemon took "
                             "another file, of generation {}; accepted: that file, or a higher "
                             "generation",
                             *in_force.generation));
  }
  if (*own.generation > *in_force.generation) return {};
  if (*own.generation == *in_force.generation && is_same) return {};
  return Error(
      ErrorCode::kConflict,
      fmt::format("storage.bigtable.generation: {} is {}; accepted: the file that is in force, or "
                  "a higher generation than {}",
                  *own.generation,
                  *own.generation < *in_force.generation
                      ? "lower than that of the file that another daemon took"
                      : "that of the file in force, which says something else",
                  *in_force.generation));
}

}  // namespace tallyd
