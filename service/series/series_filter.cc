#include "service/series/series_filter.h"

#include <algorithm>

namespace tallyd {
namespace {

bool IsMeant(const SeriesFilter& filter, std::string_view text) {
  if (filter.wants) return filter.wants(text);
  return std::ranges::find(filter.values, text) != filter.values.end();
}

bool MatchesOne(const SeriesKey& keys, std::span<const KeyField> fields,
                const SeriesFilter& filter) {
  for (const KeyField& field : fields) {
    if (field.value.is_null() || keys.NameOf(field) != filter.field) continue;
    if (field.value.type() == ValueType::kString) return IsMeant(filter, field.value.AsView());
    return IsMeant(filter, ToText(field.value));
  }
  return filter.or_without;
}

}  // namespace

bool MatchesAll(const SeriesKey& keys, std::span<const KeyField> fields,
                std::span<const SeriesFilter> filters) {
  return std::ranges::all_of(
      filters, [&](const SeriesFilter& filter) { return MatchesOne(keys, fields, filter); });
}

}  // namespace tallyd
