#include "service/query/steps/percentile.h"

#include <algorithm>

#include "service/query/steps/exact.h"

namespace tallyd {

void SortNumbers(std::span<Value> numbers) {
  std::ranges::sort(numbers, {}, [](const Value& number) { return Exactly(number); });
}

Value Percentile(std::span<const Value> sorted, uint32_t percent) {
  if (sorted.empty()) return Value();
  const uint64_t hundredths = (sorted.size() - 1) * uint64_t{percent};
  const Value& below = sorted[hundredths / 100];
  const uint64_t behind = hundredths % 100;
  if (behind == 0) return below;
  return Between(below, sorted[hundredths / 100 + 1], behind, 100);
}

}  // namespace tallyd
