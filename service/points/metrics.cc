#include "service/points/metrics.h"

#include <algorithm>
#include <set>
#include <utility>

#include "service/query/ask/key_fields.h"

namespace tallyd {
namespace {

std::string AsMetric(std::string_view name) {
  constexpr std::string_view kOthers = "-_./";
  std::string metric(name);
  for (char& c : metric) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_letter && !is_digit && kOthers.find(c) == kOthers.npos) c = '_';
  }
  return metric;
}

std::string PrefixOf(const Stream& stream) { return AsMetric(stream.name) + "."; }

}  // namespace

std::vector<std::string> TagsOf(const Schema& schema, const Stream& stream,
                                const StreamFields& known) {
  std::set<std::string> tags;
  for (const size_t index : stream.tables) {
    const Table& table = schema.tables[index];
    if (!KeepsEvents(table) && !KeepsNewest(table)) continue;
    const auto& fields = table.row_key.entity_fields();
    tags.insert(fields.begin(), fields.end());
    if (!table.row_key.holds_labels()) continue;
    for (const std::string& name : known.names()) {
      if (KeyMayTell(table, known, name)) tags.insert(name);
    }
  }
  return {tags.begin(), tags.end()};
}

std::vector<std::string> Metrics::FieldsOf(const Stream& stream) const {
  const StreamFields known(schema_, stream, store_);
  std::vector<std::string> fields;
  for (const std::string& name : known.names()) {
    const bool is_of_key = std::ranges::any_of(
        stream.tables, [&](size_t index) { return KeyHolds(schema_.tables[index], name); });
    if (known.IsNumber(name) && name != stream.time_field && !is_of_key) fields.push_back(name);
  }
  return fields;
}

std::optional<MetricField> Metrics::Find(std::string_view metric) const {
  if (const Stream* const own = schema_.FindStream(own_stream_)) {
    const std::vector<std::string> fields = FieldsOf(*own);
    if (std::ranges::binary_search(fields, metric)) {
      return MetricField{own_stream_, std::string(metric)};
    }
  }
  for (const Stream& stream : schema_.streams) {
    const std::string prefix = PrefixOf(stream);
    if (IsOwn(stream) || !metric.starts_with(prefix)) continue;
    const std::string_view rest = metric.substr(prefix.size());
    // A field of that very name goes before one that is only written so.
    std::vector<std::string> fields = FieldsOf(stream);
    const auto same = std::ranges::find(fields, rest);
    const auto found = same != fields.end() ? same : std::ranges::find(fields, rest, AsMetric);
    if (found != fields.end()) return MetricField{stream.name, std::move(*found)};
  }
  return std::nullopt;
}

std::string Metrics::NameOf(const MetricField& metric) const {
  if (metric.stream == own_stream_) return metric.field;
  return AsMetric(metric.stream) + "." + AsMetric(metric.field);
}

std::vector<std::string> Metrics::Names(std::string_view prefix, size_t limit) const {
  std::set<std::string> names;
  for (const Stream& stream : schema_.streams) {
    for (const std::string& field : FieldsOf(stream)) {
      std::string name = NameOf({stream.name, field});
      if (name.starts_with(prefix)) names.insert(std::move(name));
      if (names.size() > limit) names.erase(std::prev(names.end()));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace tallyd
