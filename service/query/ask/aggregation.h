// What a step makes of the values in it: the functions of `agg=`. Their names stand in one list;
// what each keeps while values come, and makes of it, is in service/query/steps/accumulators.h.
#ifndef TALLYD_SERVICE_QUERY_ASK_AGGREGATION_H_
#define TALLYD_SERVICE_QUERY_ASK_AGGREGATION_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "config/values/result.h"

namespace tallyd {

enum class Aggregation : uint8_t {
  kAvg,
  kMin,
  kMax,
  kSum,
  kCount,
  kFirst,
  kLast,
  kStddev,
  kRate,
  kIncrease,
  kDelta,
  kP50,
  kP99,
};

// Of each of the enum, in its order.
inline constexpr std::array<std::string_view, 13> kAggregations = {
    "avg",    "min",  "max",      "sum",   "count", "first", "last",
    "stddev", "rate", "increase", "delta", "p50",   "p99"};

constexpr std::string_view ToString(Aggregation aggregation) {
  return kAggregations[static_cast<size_t>(aggregation)];
}

// Whether a step takes the value before it, and the order of all values, into account.
constexpr bool FollowsSteps(Aggregation aggregation) {
  return aggregation == Aggregation::kRate || aggregation == Aggregation::kIncrease;
}

// kInvalid lists those that there are.
Result<Aggregation> ParseAggregation(std::string_view name);
// "avg, min, max, ..."
std::string AggregationNames();

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_AGGREGATION_H_
