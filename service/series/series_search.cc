#include "service/series/series_search.h"

#include <algorithm>
#include <utility>

#include "service/series/series_scan.h"

namespace tallyd {
namespace {

bool Filters(const std::vector<SeriesFilter>& filters, std::string_view field) {
  return std::ranges::any_of(filters, [field](const SeriesFilter& filter) {
    return filter.field == field && filter.has_terms();
  });
}

Result<SeriesIndex::Found> ReadSeries(const SeriesSearch& search,
                                      const std::vector<KeyRange>& ranges, Store& store) {
  SeriesIndex::Found found;
  SeriesScan scan(store, search.stored, search.keys,
                  {ranges, search.now, search.clamp, {}});
  while (true) {
    const Result<bool> more = scan.Next();
    if (!more) return more.error();
    if (!*more) return found;
    if (!MatchesAll(search.keys, scan.fields(), search.filters)) continue;
    found.are_all = found.series.size() < search.limit;
    if (!found.are_all) return found;
    found.series.emplace_back(scan.series());
  }
}

}  // namespace

std::optional<SeriesIndex::Found> SearchIndexed(const SeriesSearch& search,
                                              const std::vector<KeyRange>& ranges, size_t limit) {
  if (search.indexes == nullptr || !search.indexes->knows_all_writes) return std::nullopt;
  const SeriesIndexPtr index = search.indexes->Find(search.stored->id);
  if (index == nullptr) return std::nullopt;
  std::vector<SeriesFilter> filters = search.filters;
  if (search.clamp != nullptr) {
    for (const auto& [field, value] : search.clamp->scope()) filters.push_back({field, {value}});
  }
  return index->Match(ranges, filters, limit);
}

Result<SeriesIndex::Found> SearchSeries(const SeriesSearch& search, Store& store) {
  const std::vector<KeyRange> ranges =
      RangesOfSeries(search.table, search.filters, search.clamp, search.unit);
  if (auto found = SearchIndexed(search, ranges, search.limit)) return std::move(*found);
  return ReadSeries(search, ranges, store);
}

std::vector<KeyRange> RangesOfSeries(const Table& table, const std::vector<SeriesFilter>& filters,
                                     const RowClamp* clamp, TimeUnit unit) {
  KnownFields known;
  for (const SeriesFilter& filter : filters) {
    if (!filter.has_terms()) continue;
    if (table.row_key.UsesField(filter.field)) known.values[filter.field] = filter.values;
  }
  if (clamp != nullptr) clamp->Narrow(&known);
  Result<KeyRanges> found = FindKeyRanges(table.row_key, known, unit);
  return found && found->bounded ? std::move(found->ranges) : std::vector{KeyRange{}};
}

bool SeriesTells(const Table& table, const SeriesKey& keys, std::string_view field,
                 bool always_label) {
  const auto gives_back = [field](const Segment& segment) {
    return !segment.is_literal() && segment.field == field && GivesBackInKey(segment);
  };
  if (std::ranges::any_of(keys.segments(), gives_back)) return true;
  return always_label && table.row_key.HoldsAsLabel(field);
}

bool FiltersLeadSeries(const SeriesKey& keys, const std::vector<SeriesFilter>& filters) {
  std::vector<std::string_view> led;
  for (const Segment& segment : keys.segments()) {
    if (segment.is_literal() || segment.is_salt()) continue;
    if (segment.is_labels || !Filters(filters, segment.field)) break;
    led.push_back(segment.field);
  }
  return std::ranges::all_of(filters, [&led](const SeriesFilter& filter) {
    return filter.has_terms() && std::ranges::find(led, filter.field) != led.end();
  });
}

}  // namespace tallyd
