// The series of a stream, page by page: the fields of a row key but for its time, each set of them
// once, of the table whose key tells the most.
#ifndef TALLYD_SERVICE_SERIES_LIST_SERIES_H_
#define TALLYD_SERVICE_SERIES_LIST_SERIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/values/result.h"
#include "service/limits/query_memory.h"
#include "service/series/series_search.h"
#include "storage/store.h"

namespace tallyd {

struct SeriesPage {
  std::vector<std::string> series;   // In key order.
  std::optional<std::string> last;   // Where there are more: after which the next page begins.
  MemoryCharge held;                 // Of the series, and of an answer made of them.
};

// Where the table is, and nothing where the stream has none whose keys tell all that the filters
// ask for.
struct SeriesTable {
  const Table* table = nullptr;
  SeriesKey keys;
};
std::optional<SeriesTable> TableOfSeries(const Schema& schema, const Stream& stream,
                                         const std::vector<SeriesFilter>& filters);

// `search.limit` is the page's; it may have no filter. `memory`: where what is held counts; null:
// nowhere.
Result<SeriesPage> ListSeriesOf(const SeriesSearch& search,
                                const std::optional<std::string>& after, Store& store,
                                ReadMemoryPtr memory = nullptr);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_SERIES_LIST_SERIES_H_
