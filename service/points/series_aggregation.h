// SeriesAggregation: what becomes of several numbers, of a step or of several series at one time,
// by the names that time-series databases with series and tags have for them.
#ifndef TALLYD_SERVICE_POINTS_SERIES_AGGREGATION_H_
#define TALLYD_SERVICE_POINTS_SERIES_AGGREGATION_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/value.h"
#include "service/query/ask/aggregation.h"
#include "service/query/steps/accumulators.h"

namespace tallyd {

enum class SeriesAggregation : uint8_t {
  kAvg,
  kCount,
  kDev,
  kFirst,
  kLast,
  kMax,
  kMimmax,
  kMimmin,
  kMin,
  kNone,
  kP50,
  kP75,
  kP90,
  kP95,
  kP99,
  kP999,
  kSum,
  kZimsum,
};

struct SeriesAggregationInfo {
  std::string_view name;
  // What `step` computes by the same rule; nothing: it has no name for it.
  std::optional<Aggregation> of_steps;
  // Joining series: one that has no point at some time counts there with what lies on the line
  // between its neighbours. Others count only where they have a point.
  bool interpolates = false;
  uint32_t per_mille = 0;  // Of percentiles.
  // Of one number it is that number.
  bool keeps_one = true;
};

// Of each of the enum, in its order, which is that of names.
inline constexpr std::array<SeriesAggregationInfo, 18> kSeriesAggregations = {{
    {"avg", Aggregation::kAvg, true},
    {"count", Aggregation::kCount, false, 0, false},
    {"dev", Aggregation::kStddev, true, 0, false},
    {"first", Aggregation::kFirst},
    {"last", Aggregation::kLast},
    {"max", Aggregation::kMax, true},
    {"mimmax", Aggregation::kMax},
    {"mimmin", Aggregation::kMin},
    {"min", Aggregation::kMin, true},
    {"none", std::nullopt},
    {"p50", Aggregation::kP50, true, 500},
    {"p75", std::nullopt, true, 750},
    {"p90", std::nullopt, true, 900},
    {"p95", std::nullopt, true, 950},
    {"p99", Aggregation::kP99, true, 990},
    {"p999", std::nullopt, true, 999},
    {"sum", Aggregation::kSum, true},
    {"zimsum", Aggregation::kSum},
}};

constexpr const SeriesAggregationInfo& InfoOf(SeriesAggregation aggregation) {
  return kSeriesAggregations[static_cast<size_t>(aggregation)];
}

// kInvalid lists those that there are.
Result<SeriesAggregation> ParseSeriesAggregation(std::string_view name);

// Makes one number of several. Not thread-safe.
class SeriesFold {
 public:
  explicit SeriesFold(SeriesAggregation aggregation);

  // Of numbers in order of time, or of series; null of none, and where no float64 holds it. Sorts
  // them, where it must. REQUIRES: all are numbers; the aggregation is not kNone.
  Value Of(std::span<Value> numbers);

 private:
  const SeriesAggregationInfo& info_;
  const Accumulators empty_;
  Accumulators sums_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_POINTS_SERIES_AGGREGATION_H_
