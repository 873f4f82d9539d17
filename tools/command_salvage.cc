// tallyd salvage: a store of what can still be read of a damaged one.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "storage/leveldb/tools/salvage.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/report_text.h"

namespace tallyd {
namespace {

using Json = nlohmann::ordered_json;

const char* StateOf(SalvageReport::Base base) {
  switch (base) {
    case SalvageReport::Base::kWhole:
      return "whole";
    case SalvageReport::Base::kDamaged:
      return "damaged";
    case SalvageReport::Base::kGone:
      return "gone";
  }
  return "";
}

Json ToJson(const SalvageReport& report, const std::string& path, const std::string& to) {
  Json json{{"path", path},
            {"to", to},
            {"whole", report.whole()},
            {"base", StateOf(report.base)},
            {"heads", report.heads},
            {"damaged_heads", report.damaged_heads},
            {"latest_may_be_old", report.latest_may_be_old},
            {"linked", report.files.linked},
            {"copied", report.files.copied}};
  json["tables"] = Json::array();
  for (const auto& [id, table] : report.tables) {
    Json one{{"name", table.name}};
    if (table.mode == TableMode::kHistory) {
      one["files"] = table.files;
      one["lost_files"] = table.lost_files;
      one["blocks"] = table.blocks;
      one["lost_blocks"] = table.lost_blocks;
      one["entries"] = table.entries;
      one["lost_entries"] = table.lost_entries;
    } else {
      one["rows"] = table.rows;
      one["lost_rows"] = table.lost_rows;
    }
    json["tables"].push_back(std::move(one));
  }
  json["findings"] = FindingsJson(report.findings);
  json["notes"] = report.notes;
  json["made"] = VerifyJson(report.made, to);
  json["bytes"] = report.bytes;
  json["seconds"] = report.seconds;
  json["mb_per_second"] = RateOf(report.bytes, report.seconds);
  return json;
}

std::string ToText(const SalvageReport& report, const std::string& path, const std::string& to) {
  std::vector<std::vector<std::string>> rows{
      {"table", "files", "lost", "blocks", "lost", "entries", "lost", "latest rows", "lost"}};
  for (const auto& [id, table] : report.tables) {
    std::vector<std::string> row{table.name.empty() ? fmt::format("number {}", id) : table.name};
    for (const uint64_t number : {table.files, table.lost_files, table.blocks, table.lost_blocks,
                                  table.entries, table.lost_entries, table.rows, table.lost_rows}) {
      row.push_back(fmt::to_string(number));
    }
    rows.push_back(std::move(row));
  }
  std::string text = TextTable(rows);
  for (const std::string& note : report.notes) text += "note     " + note + "\n";
  text += FindingsText(report.findings) + FindingsText(report.made.findings);
  if (report.latest_may_be_old) {
    text += "note     rows of latest tables may be older than the history, or missing\n";
  }
  return text + fmt::format(
                    "{} {}: base is {}, {} of {} heads are damaged. {} read in {:.1f} s, "
                    "{:.1f} MB/s\n",
                    to, report.whole() ? "has all of " + path : "has what is left of " + path,
                    StateOf(report.base), report.damaged_heads, report.heads,
                    FormatBytes(report.bytes), report.seconds,
                    RateOf(report.bytes, report.seconds));
}

}  // namespace

int SalvageCommand(const CommandLine& line, const ToolHost& host) {
  const std::optional<Config> config = LoadForCommand(line.config, host);
  if (!config) return kMisused;
  const std::string to = std::filesystem::absolute(line.to).lexically_normal();
  ToolProgress progress;
  const Result<SalvageReport> report = [&] {
    const ProgressLine shown(progress);
    return Salvage({config->storage, to, &progress});
  }();
  if (!report) return Refused("salvage", report.error());
  const std::string& path = config->storage.path;
  const std::string text =
      line.format == "json" ? JsonText(ToJson(*report, path, to)) : ToText(*report, path, to);
  std::fputs(text.c_str(), stdout);
  return report->whole() ? 0 : kFailed;
}

}  // namespace tallyd
