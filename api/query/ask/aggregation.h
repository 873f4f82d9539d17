// What a step makes of the values in it: the functions of `agg=`. Their names stand in one list;
// what each keeps while values come, and makes of it, is in api/query/steps/accumulators.h.
#ifndef TALLYD_API_QUERY_ASK_AGGREGATION_H_
#define TALLYD_API_QUERY_ASK_AGGREGATION_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "config/values/result.h"

namespace tallyd {

enum class Aggregation : uint8_t { kAvg, kMin, kMax, kSum, kCount, kFirst, kLast, kStddev };

// Of each of the enum, in its order.
inline constexpr std::array<std::string_view, 8> kAggregations = {
    "avg", "min", "max", "sum", "count", "first", "last", "stddev"};
// Those that later versions have.
inline constexpr std::string_view kLaterAggregations[] = {"rate", "increase", "delta", "p50",
                                                          "p99"};

constexpr std::string_view ToString(Aggregation aggregation) {
  return kAggregations[static_cast<size_t>(aggregation)];
}

// kInvalid lists those that there are.
Result<Aggregation> ParseAggregation(std::string_view name);
// "avg, min, max, ..."
std::string AggregationNames();

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_ASK_AGGREGATION_H_
