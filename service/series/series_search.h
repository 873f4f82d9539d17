// The series of a table that a search means: from its index where that is complete and knows all
// that is written, else by reading, as many steps as there are series below what bounds the key.
#ifndef TALLYD_SERVICE_SERIES_SERIES_SEARCH_H_
#define TALLYD_SERVICE_SERIES_SERIES_SEARCH_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/schema/schema.h"
#include "config/series/series_key.h"
#include "config/values/result.h"
#include "service/access/row_clamp.h"
#include "service/series/series_indexes.h"
#include "storage/store.h"

namespace tallyd {

struct SeriesSearch {
  const Table& table;
  TablePtr stored;
  const SeriesKey& keys;
  const SeriesIndexes* indexes = nullptr;  // Of the schema in force; null: none.
  const RowClamp* clamp = nullptr;         // Null: every row.
  TimeUnit unit = TimeUnit::kMilliseconds;
  TimeUs now = 0;
  std::vector<SeriesFilter> filters;  // That the keys tell; at least one.
  size_t limit = kMaxRanges;
};

// From the table's index alone, within the ranges; nothing where it has none, or one that may lack
// a series.
std::optional<SeriesIndex::Found> SearchIndexed(const SeriesSearch& search,
                                              const std::vector<KeyRange>& ranges, size_t limit);

// Blocks, as any reading.
Result<SeriesIndex::Found> SearchSeries(const SeriesSearch& search, Store& store);

// The ranges of keys, whatever their time, in which what the filters and the clamp say of leading
// placeholders leaves rows.
std::vector<KeyRange> RangesOfSeries(const Table& table, const std::vector<SeriesFilter>& filters,
                                     const RowClamp* clamp, TimeUnit unit);

// Whether the key tells the field, and before its time: by a placeholder, or, where it is known to
// be a label whenever an event has it, as one of {labels}.
bool SeriesTells(const Table& table, const SeriesKey& keys, std::string_view field,
                 bool always_label);

// Whether all that the filters say leads the key, so that its walk tells all there is to be known.
bool FiltersLeadSeries(const SeriesKey& keys, const std::vector<SeriesFilter>& filters);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_SERIES_SERIES_SEARCH_H_
