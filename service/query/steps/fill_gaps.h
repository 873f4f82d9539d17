// The gaps of one column of one group, filled: the values of steps one behind the other, null where
// a step has none.
//
// - previous: the nearest value before it; null before the first.
// - linear: what lies on the line between the nearest values on both sides, an integer where both
//   are and the line meets one; null where one side has none, or either is no number.
// - 0: the integer.
#ifndef TALLYD_SERVICE_QUERY_STEPS_FILL_GAPS_H_
#define TALLYD_SERVICE_QUERY_STEPS_FILL_GAPS_H_

#include <span>

#include "config/values/value.h"
#include "service/query/ask/fill.h"

namespace tallyd {

void FillGaps(Fill fill, std::span<Value> values);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_STEPS_FILL_GAPS_H_
