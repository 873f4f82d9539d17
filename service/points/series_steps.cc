#include "service/points/series_steps.h"

#include <algorithm>

namespace tallyd {
namespace {

constexpr int64_t kMonthsPerYear = 12;
constexpr int64_t kFirstYear = 1970;

int64_t MonthsOf(TimeUs time) {
  const CivilTime civil = ToCivil(time);
  return (civil.year - kFirstYear) * kMonthsPerYear + civil.month - 1;
}

TimeUs StartOfMonth(int64_t months) {
  const auto year = static_cast<int>(kFirstYear + months / kMonthsPerYear);
  const auto month = static_cast<int>(months % kMonthsPerYear) + 1;
  return DaysFromCivil(year, month, 1) * kUsPerDay;
}

}  // namespace

TimeUs SeriesSteps::StartAt(TimeUs time, int64_t behind) const {
  switch (kind_) {
    case Kind::kWidth:
      return ((time - origin_) / size_ + behind) * size_ + origin_;
    case Kind::kMonths:
      return StartOfMonth((MonthsOf(time) / size_ + behind) * size_);
    case Kind::kAll:
      return behind == 0 ? origin_ : kMaxTimeUs + 1;
  }
  return origin_;
}

TimeUs SeriesSteps::StartOf(TimeUs time) const { return std::max<TimeUs>(StartAt(time, 0), 0); }

TimeUs SeriesSteps::StartBehind(TimeUs time) const {
  return std::min(StartAt(time, 1), kMaxTimeUs + 1);
}

TimeRange SeriesSteps::Whole(const TimeRange& range) const {
  if (range.is_empty() || kind_ == Kind::kAll) return range;
  return {StartOf(range.from), StartBehind(range.to - 1)};
}

}  // namespace tallyd
