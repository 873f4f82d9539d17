// The p-th percentile of numbers: of n in order that of rank p/100 * (n - 1), counted from 0, and
// between two ranks what lies so far on the line between their numbers (Hyndman and Fan's type 7,
// which numpy and R take by default).
#ifndef TALLYD_SERVICE_QUERY_STEPS_PERCENTILE_H_
#define TALLYD_SERVICE_QUERY_STEPS_PERCENTILE_H_

#include <cstdint>
#include <span>

#include "config/values/value.h"

namespace tallyd {

// By the numbers, whatever their types.
void SortNumbers(std::span<Value> numbers);
// REQUIRES: sorted numbers; percent <= 100. On a rank it is the number itself, in its type; between
// integers it is an integer where the line meets one. Of none it is null.
Value Percentile(std::span<const Value> sorted, uint32_t percent);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_STEPS_PERCENTILE_H_
