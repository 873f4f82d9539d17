// The gaps of one column of one group, filled: the values of steps one behind the other, null where
// a step has none.
//
// - previous: the nearest value before it; null before the first.
// - linear: what lies on the line between the nearest values on both sides, an integer where both
//   are and the line meets one; null where one side has none, or either is no number.
// - 0: the integer.
#ifndef TALLYD_API_QUERY_STEPS_FILL_GAPS_H_
#define TALLYD_API_QUERY_STEPS_FILL_GAPS_H_

#include <span>

#include "api/query/ask/fill.h"
#include "config/values/value.h"

namespace tallyd {

void FillGaps(Fill fill, std::span<Value> values);

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_STEPS_FILL_GAPS_H_
