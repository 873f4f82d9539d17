// The key ranges of a plan, for a part of its time: what those open who read a table in passes, or
// go on behind a page.
#ifndef TALLYD_SERVICE_QUERY_ASK_RANGES_WITHIN_H_
#define TALLYD_SERVICE_QUERY_ASK_RANGES_WITHIN_H_

#include <vector>

#include "service/query/ask/candidate.h"

namespace tallyd {

// `unit` is the stream's. A plan that is a scan has one range, the whole table, whatever the time.
Result<std::vector<KeyRange>> RangesWithin(const TablePlan& plan, TimeUnit unit,
                                           const TimeRange& time);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_RANGES_WITHIN_H_
