#include "service/query/ask/series_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "service/series/series_search.h"

namespace tallyd {
namespace {

// A range for each series pays where these are few of all, beside one reading of what is between.
constexpr size_t kFewSeries = 16;
constexpr size_t kFewOfSeries = 8;

bool IsAlwaysLabel(const EventQuery& query, const std::string& field) {
  return query.known->IsLabelAlone(field) || !query.known->WasSeen(field);
}

// What the query says of fields that the table's keys tell before their time.
std::vector<SeriesFilter> SeriesFiltersOf(const EventQuery& query, const Table& table,
                                          const SeriesKey& keys) {
  std::vector<SeriesFilter> filters;
  for (const FieldFilter& filter : query.filters) {
    if (SeriesTells(table, keys, filter.field, IsAlwaysLabel(query, filter.field))) {
      filters.push_back({filter.field, filter.values});
    } else if (query.known->WasLabel(filter.field) && table.row_key.HoldsAsLabel(filter.field)) {
      // An event that has it otherwise than as a label may match, too: it has no such label, then.
      filters.push_back({.field = filter.field, .values = filter.values, .or_without = true});
    }
  }
  return filters;
}

// What else is wanted, of fields that only keys tell: who asks leaves out what does not match.
std::vector<SeriesFilter> OnlySeriesOf(const EventQuery& query, const Table& table,
                                       const SeriesKey& keys) {
  std::vector<SeriesFilter> filters;
  for (const SeriesFilter& filter : query.only_series) {
    if (SeriesTells(table, keys, filter.field, IsAlwaysLabel(query, filter.field))) {
      filters.push_back(filter);
    }
  }
  return filters;
}

// Of a scope, whose fields every row of its own tells.
void AddScope(const RowClamp& clamp, std::vector<SeriesFilter>* filters) {
  for (const auto& [field, value] : clamp.scope()) {
    if (std::ranges::find(*filters, field, &SeriesFilter::field) == filters->end()) {
      filters->push_back({field, {value}});
    }
  }
}

Status TakeSeries(std::vector<std::string> series, const EventQuery& query, TablePlan* plan) {
  plan->known.series = std::make_shared<const std::vector<std::string>>(std::move(series));
  Result<KeyRanges> ranges =
      FindKeyRanges(plan->table->row_key, plan->known, query.stream->unit);
  if (!ranges) return ranges.error();
  plan->ranges = std::move(*ranges);
  return {};
}

// By what else is wanted, where an index tells and few series match; false: nothing changed.
bool NarrowByOthers(const EventQuery& query, SeriesSearch search, TablePlan* plan) {
  const std::vector<SeriesFilter> others = OnlySeriesOf(query, search.table, search.keys);
  if (others.empty()) return false;
  search.filters.insert(search.filters.end(), others.begin(), others.end());
  const SeriesIndexPtr index =
      search.indexes == nullptr ? nullptr : search.indexes->Find(search.stored->id);
  if (index == nullptr) return false;
  const std::vector<KeyRange> ranges =
      RangesOfSeries(search.table, search.filters, search.clamp, search.unit);
  const size_t few = std::max(kFewSeries, index->size() / kFewOfSeries);
  auto found = SearchIndexed(search, ranges, std::min(search.limit, few));
  if (!found || !found->are_all) return false;
  if (TakeSeries(std::move(found->series), query, plan)) return true;
  plan->known.series = nullptr;  // Periods of time make too many ranges of them.
  return false;
}

std::string WhyTooMany(const SeriesSearch& search) {
  std::string lacking;
  for (const SeriesFilter& filter : search.filters) {
    if (!filter.or_without) continue;
    lacking += fmt::format(", or have no label {} where some event had it as another field",
                           filter.field);
  }
  return fmt::format(
      "more than {} series of {} match{}, and each is a range of keys; it takes more labels, or "
      "fields that lead {}",
      search.limit, search.table.name, lacking, search.table.row_key.text());
}

}  // namespace

Status NarrowToSeries(const EventQuery& query, Store& store, TablePlan* plan) {
  const Table& table = *plan->table;
  if (!table.row_key.holds_labels()) return {};
  const auto keys = SeriesKey::Of(table.row_key, table.time_field);
  if (!keys) return {};
  const RowClamp* const clamp = query.ClampOf(table);
  std::vector<SeriesFilter> filters = SeriesFiltersOf(query, table, *keys);
  if (clamp != nullptr) AddScope(*clamp, &filters);
  const bool is_led = filters.empty() || FiltersLeadSeries(*keys, filters);
  const SeriesSearch search{table,
                                plan->stored,
                                *keys,
                                query.access.snapshot->series.get(),
                                clamp,
                                query.stream->unit,
                                query.now,
                                std::move(filters)};
  if (NarrowByOthers(query, search, plan) || is_led) return {};
  Result<SeriesIndex::Found> found = SearchSeries(search, store);
  if (!found) return found.error();
  if (!found->are_all) {
    // What leads the key bounds it all the same, and a latest table is there to be read whole.
    if (plan->ranges.bounded || KeepsNewest(table)) return {};
    return Error(ErrorCode::kUnprocessable, WhyTooMany(search));
  }
  return TakeSeries(std::move(found->series), query, plan);
}

}  // namespace tallyd
