#include "service/points/series_rate.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "service/query/steps/exact.h"

namespace tallyd {
namespace {

constexpr long double kInt64End = std::numeric_limits<int64_t>::max();

// Nothing: the point is left out.
std::optional<Value> RateBetween(const SeriesRate& rate, const SeriesPoint& from,
                                 const SeriesPoint& to) {
  if (from.value.is_null() || to.value.is_null()) return Value();
  const double seconds =
      static_cast<double>(to.time - from.time) / static_cast<double>(kUsPerSecond);
  const long double grown = Exactly(to.value) - Exactly(from.value);
  if (!rate.counts || grown >= 0) return FiniteOrNull(static_cast<double>(grown) / seconds);
  if (rate.drops_resets) return std::nullopt;
  const long double end = rate.counter_end.is_null() ? kInt64End : Exactly(rate.counter_end);
  const double over_end = static_cast<double>(end + grown) / seconds;
  if (rate.largest > 0 && over_end > rate.largest) return Value::Double(0);
  return FiniteOrNull(over_end);
}

}  // namespace

void TellRates(const SeriesRate& rate, std::vector<SeriesPoint>* points) {
  if (points->empty()) return;
  SeriesPoint before = points->front();
  size_t kept = 0;
  for (size_t i = 1; i < points->size(); ++i) {
    const SeriesPoint at = (*points)[i];
    if (const auto told = RateBetween(rate, before, at)) (*points)[kept++] = {at.time, *told};
    before = at;
  }
  points->resize(kept);
}

}  // namespace tallyd
