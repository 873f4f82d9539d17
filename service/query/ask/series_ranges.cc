#include "service/query/ask/series_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "service/series/series_search.h"

namespace tallyd {
namespace {

// What the query says of fields that the table's keys tell before their time.
std::vector<SeriesFilter> SeriesFiltersOf(const EventQuery& query, const Table& table,
                                          const SeriesKey& keys) {
  std::vector<SeriesFilter> filters;
  for (const FieldFilter& filter : query.filters) {
    // An event that has it otherwise than as a label may match, too, whatever its series.
    const bool always_label =
        query.known->IsLabelAlone(filter.field) || !query.known->WasSeen(filter.field);
    if (SeriesTells(table, keys, filter.field, always_label)) {
      filters.push_back({filter.field, filter.values});
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

}  // namespace

Status NarrowToSeries(const EventQuery& query, Store& store, TablePlan* plan) {
  const Table& table = *plan->table;
  if (!table.row_key.holds_labels()) return {};
  const auto keys = SeriesKey::Of(table.row_key, table.time_field);
  if (!keys) return {};
  const RowClamp* const clamp = query.ClampOf(table);
  std::vector<SeriesFilter> filters = SeriesFiltersOf(query, table, *keys);
  if (clamp != nullptr) AddScope(*clamp, &filters);
  if (filters.empty() || FiltersLeadSeries(*keys, filters)) return {};
  const SeriesSearch search{table,
                                plan->stored,
                                *keys,
                                query.access.snapshot->series.get(),
                                clamp,
                                query.stream->unit,
                                query.now,
                                std::move(filters)};
  Result<SeriesIndex::Found> found = SearchSeries(search, store);
  if (!found) return found.error();
  if (!found->are_all) {
    // What leads the key bounds it all the same, and a latest table is there to be read whole.
    if (plan->ranges.bounded || KeepsNewest(table)) return {};
    return Error(ErrorCode::kUnprocessable,
                 fmt::format("more than {} series of {} match, and each is a range of keys; it "
                             "takes more labels, or fields that lead {}",
                             kMaxRanges, table.name, table.row_key.text()));
  }
  plan->known.series =
      std::make_shared<const std::vector<std::string>>(std::move(found->series));
  Result<KeyRanges> ranges = FindKeyRanges(table.row_key, plan->known, query.stream->unit);
  if (!ranges) return ranges.error();
  plan->ranges = std::move(*ranges);
  return {};
}

}  // namespace tallyd
