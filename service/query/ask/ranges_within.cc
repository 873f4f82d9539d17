#include "service/query/ask/ranges_within.h"

#include <utility>

namespace tallyd {

Result<std::vector<KeyRange>> RangesWithin(const TablePlan& plan, TimeUnit unit,
                                           const TimeRange& time) {
  if (plan.is_scan()) return std::vector{KeyRange{}};
  if (time == plan.known.time) return plan.ranges.ranges;
  KnownFields known = plan.known;
  known.time = time;
  Result<KeyRanges> narrower = FindKeyRanges(plan.table->row_key, known, unit);
  if (!narrower) return narrower.error();
  return std::move(narrower->ranges);
}

}  // namespace tallyd
