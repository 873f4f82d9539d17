// SeriesSteps: how time is cut for downsampling: into spans of one length that begin at the epoch,
// as those of `step` do, into periods of the calendar (UTC), or not at all, where the whole range
// is one step.
#ifndef TALLYD_SERVICE_POINTS_SERIES_STEPS_H_
#define TALLYD_SERVICE_POINTS_SERIES_STEPS_H_

#include <cstdint>

#include "config/values/time.h"

namespace tallyd {

class SeriesSteps {
 public:
  static SeriesSteps Of(int64_t width_us) { return {Kind::kWidth, width_us, 0}; }
  // So many weeks, which begin on Mondays, counted from that of 1970-01-01.
  static SeriesSteps OfWeeks(int64_t count) {
    return {Kind::kWidth, count * 7 * kUsPerDay, -3 * kUsPerDay};
  }
  // So many months, counted from January 1970; a year has twelve.
  static SeriesSteps OfMonths(int64_t count) { return {Kind::kMonths, count, 0}; }
  // One step, which begins with the range.
  static SeriesSteps OfAll(TimeUs start) { return {Kind::kAll, 0, start}; }

  // Those of one length, aligned to the epoch: it; else 0.
  int64_t width_us() const { return kind_ == Kind::kWidth && origin_ == 0 ? size_ : 0; }

  // The first moment of the step that has the time, and of the one behind it; none follows the only
  // one: the end of all times. Times before the epoch are none. REQUIRES: a time of 0 to
  // kMaxTimeUs.
  TimeUs StartOf(TimeUs time) const;
  TimeUs StartBehind(TimeUs time) const;

  // The range in whole steps.
  TimeRange Whole(const TimeRange& range) const;

  friend bool operator==(const SeriesSteps&, const SeriesSteps&) = default;

 private:
  enum class Kind : uint8_t { kWidth, kMonths, kAll };

  SeriesSteps(Kind kind, int64_t size, TimeUs origin) : kind_(kind), size_(size), origin_(origin) {}
  // Of the step that many steps behind that of the time.
  TimeUs StartAt(TimeUs time, int64_t behind) const;

  Kind kind_;
  int64_t size_;   // Microseconds or months.
  TimeUs origin_;  // A step begins here.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_POINTS_SERIES_STEPS_H_
