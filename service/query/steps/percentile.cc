#include "service/query/steps/percentile.h"

#include <algorithm>

#include "service/query/steps/exact.h"

namespace tallyd {

void SortNumbers(std::span<Value> numbers) {
  std::ranges::sort(numbers, {}, [](const Value& number) { return Exactly(number); });
}

Value Quantile(std::span<const Value> sorted, uint32_t part, uint32_t whole) {
  if (sorted.empty()) return Value();
  const uint64_t parts = (sorted.size() - 1) * uint64_t{part};
  const Value& below = sorted[parts / whole];
  const uint64_t behind = parts % whole;
  if (behind == 0) return below;
  return Between(below, sorted[parts / whole + 1], behind, whole);
}

}  // namespace tallyd
