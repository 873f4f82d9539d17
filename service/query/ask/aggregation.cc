#include "service/query/ask/aggregation.h"

#include <fmt/format.h>

#include <algorithm>

namespace tallyd {

Result<Aggregation> ParseAggregation(std::string_view name) {
  const auto* found = std::ranges::find(kAggregations, name);
  if (found != kAggregations.end()) {
    return static_cast<Aggregation>(found - kAggregations.begin());
  }
  return Invalid(fmt::format("agg: '{}' is none of {}", name, AggregationNames()));
}

std::string AggregationNames() { return fmt::format("{}", fmt::join(kAggregations, ", ")); }

}  // namespace tallyd
