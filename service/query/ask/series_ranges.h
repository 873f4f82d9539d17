// Which series of a table a query means: where its filters say more than what leads the table's key
// they are found first, and the plan reads a range of each.
#ifndef TALLYD_SERVICE_QUERY_ASK_SERIES_RANGES_H_
#define TALLYD_SERVICE_QUERY_ASK_SERIES_RANGES_H_

#include "config/values/result.h"
#include "service/query/ask/candidate.h"
#include "service/query/ask/event_query.h"
#include "storage/store.h"

namespace tallyd {

// Narrows the plan's ranges, and what it knows. Blocks where the series are found by reading.
// kUnprocessable: so many match that nothing bounds the query; else what the store says.
// REQUIRES: the plan's ranges are known.
Status NarrowToSeries(const EventQuery& query, Store& store, TablePlan* plan);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_SERIES_RANGES_H_
