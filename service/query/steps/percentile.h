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
// That of part / whole, of which percentiles have 100. REQUIRES: sorted numbers; part <= whole, not
// 0. On a rank it is the number itself, in its type; between integers it is an integer where the
// line meets one. Of none it is null.
Value Quantile(std::span<const Value> sorted, uint32_t part, uint32_t whole);
inline Value Percentile(std::span<const Value> sorted, uint32_t percent) {
  return Quantile(sorted, percent, 100);
}

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_STEPS_PERCENTILE_H_
