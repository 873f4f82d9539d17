#include "config/series/series_key.h"

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

bool IsPlaceholder(const Segment& segment) { return !segment.is_literal(); }

// The template's text up to the placeholder of this number.
std::string_view TextBefore(std::string_view text, size_t placeholder) {
  size_t at = text.find('{');
  for (; placeholder > 0; --placeholder) at = text.find('{', at + 1);
  return text.substr(0, at);
}

}  // namespace

std::optional<SeriesKey> SeriesKey::Of(const RowKeyTemplate& row_key, std::string_view time_field) {
  const std::vector<Segment>& segments = row_key.segments();
  const auto time = std::ranges::find_if(segments, &Segment::ends_stem);
  const auto fields = std::count_if(segments.begin(), time, IsPlaceholder);
  const auto spreads_by_time = [](const Segment& segment) { return segment.of_time_field; };
  if (fields == 0 || std::any_of(segments.begin(), time, spreads_by_time)) return std::nullopt;
  const auto is_rest = [](const Segment& segment) {
    return segment.is_literal() || segment.is_time;
  };
  if (!std::all_of(time, segments.end(), is_rest)) return std::nullopt;
  SeriesKey keys;
  keys.time_field_ = time_field;
  keys.has_time_ = time != segments.end();
  keys.row_key_ = keys.series_ = row_key;
  if (!keys.has_time_) return keys;
  Result<RowKeyTemplate> series = RowKeyTemplate::Parse(
      TextBefore(row_key.text(), static_cast<size_t>(fields)), time_field);
  if (!series) return std::nullopt;
  keys.series_ = std::move(*series);
  return keys;
}

std::optional<SeriesKey> SeriesKey::OfTable(const Table& table) {
  if (table.flush_us || table.row_key.names_measured_field()) return std::nullopt;
  return Of(table.row_key, table.time_field);
}

std::string_view SeriesKey::SeriesOf(std::string_view key) const {
  const size_t size = row_key_.StemSize(key);
  const std::string_view series = key.substr(0, size);
  thread_local std::string scratch;
  thread_local std::vector<KeyField> fields;
  return Read(series, &scratch, &fields) ? series : std::string_view();
}

}  // namespace tallyd
