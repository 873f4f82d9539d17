// max_series of [streams.X]: which tables keep a stream from being held to it.
#include <fmt/format.h>

#include <algorithm>

#include "config/file/load.h"
#include "config/series/series_key.h"

namespace tallyd {
namespace {

// What the series of the table are sets of.
std::vector<std::string> FieldsOfSeries(const Table& table) {
  std::vector<std::string> fields = table.row_key.entity_fields();
  if (table.row_key.holds_labels()) fields.emplace_back("labels");
  return fields;
}

// Whether the other table, which every event enters, has a series for each of this one.
bool CountsSeriesOf(const Table& other, const Table& table) {
  if (other.stream != table.stream || !other.when.empty() || !SeriesKey::OfTable(other)) {
    return false;
  }
  const std::vector<std::string> counted = FieldsOfSeries(other);
  return std::ranges::all_of(FieldsOfSeries(table), [&](const std::string& field) {
    return std::ranges::find(counted, field) != counted.end();
  });
}

std::string WhyUncounted(const Table& table) {
  if (table.flush_us) return "flush writes its rows by the interval";
  if (table.row_key.names_measured_field()) return "its key names {field}";
  const std::vector<Segment>& segments = table.row_key.segments();
  const auto time = std::ranges::find_if(segments, &Segment::ends_stem);
  const auto behind = std::find_if(time, segments.end(), [](const Segment& segment) {
    return !segment.is_literal() && !segment.is_time;
  });
  if (behind == segments.end()) return "a salt of the time spreads its rows";
  return fmt::format("{{{}}} stands behind the time in its key", behind->field);
}

}  // namespace

std::vector<std::string> NamesOfBounded(const std::vector<Placed<Stream>>& streams) {
  std::vector<std::string> names;
  for (const Placed<Stream>& stream : streams) {
    if (stream.item.max_series) names.push_back(stream.item.name);
  }
  return names;
}

void CheckSeriesAreCounted(const std::vector<std::string>& bounded,
                           const std::vector<Placed<Table>>& tables, Mistakes* mistakes) {
  for (const Placed<Table>& table : tables) {
    const Table& item = table.item;
    const bool is_bounded = std::ranges::find(bounded, item.stream) != bounded.end();
    if (!is_bounded || FieldsOfSeries(item).empty() || SeriesKey::OfTable(item)) continue;
    const bool others_count = std::ranges::any_of(
        tables, [&](const Placed<Table>& other) { return CountsSeriesOf(other.item, item); });
    if (others_count) continue;
    mistakes->Add(table.line, fmt::format("tables.{}.row_key", item.name),
                  fmt::format("its series cannot be counted, and stream {} has max_series: {}; "
                              "accepted: all fields before the time, another table of the stream "
                              "that has them so, or no max_series",
                              item.stream, WhyUncounted(item)));
  }
}

}  // namespace tallyd
