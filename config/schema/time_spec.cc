// The time specs of config/schema/spec.h: numbers here, calendars in
// config/values/calendar_format.h.
#include <algorithm>
#include <cassert>
#include <limits>

#include "config/schema/spec.h"
#include "config/values/calendar_format.h"
#include "config/values/digits.h"

namespace tallyd {
namespace {

constexpr int64_t kUsPerMinute = 60 * kUsPerSecond;

// Microseconds in one step of the spec's number; 0: a calendar.
int64_t StepOf(const Spec& spec) {
  return spec.bucket_us > 0 ? spec.bucket_us : int64_t{spec.info().digit_us};
}

TimeRange StepAround(TimeUs t, int64_t step) {
  const TimeUs from = t - t % step;
  return {from, std::min(from + step, kMaxTimeUs + 1)};
}

// What the digits of a time count. A division by a constant each, which compilers do without one.
uint64_t NumberOf(const Spec& spec, TimeUs t) {
  switch (spec.kind) {
    case SpecKind::kMs:
      return static_cast<uint64_t>(t / kUsPerMs);
    case SpecKind::kSeconds:
      return static_cast<uint64_t>(t / kUsPerSecond);
    case SpecKind::kReverseMs:
      return static_cast<uint64_t>(std::numeric_limits<int64_t>::max() - t / kUsPerMs);
    case SpecKind::kBucket:
      return static_cast<uint64_t>((t - t % spec.bucket_us) / kUsPerMs);
    case SpecKind::kMicroseconds:
      return static_cast<uint64_t>(t);
    default:
      assert(false);
      return 0;
  }
}

}  // namespace

void AppendTimeSpec(const Spec& spec, TimeUs t, std::string* out) {
  assert(spec.is_time() && t >= 0 && t <= kMaxTimeUs);
  if (spec.info().is_calendar) return AppendCalendar(spec.format, t, out);
  const size_t size = out->size();
  out->resize(size + FixedWidth(spec));
  WriteTimeDigits(spec, t, out->data() + size);
}

void WriteTimeDigits(const Spec& spec, TimeUs t, char* to) {
  const size_t width = FixedWidth(spec);
  WriteLastDigits(width, NumberOf(spec, t), to + width);
}

uint32_t TimeUnitsOf(const Spec& spec) {
  constexpr uint32_t kDate = kUnitYear | kUnitMonth | kUnitDay;
  constexpr uint32_t kSecond = kDate | kUnitHour | kUnitMinute | kUnitSecond;
  if (spec.info().digits == 0) return CalendarUnits(spec.format);
  if (StepOf(spec) <= kUsPerMs) return kSecond | kUnitMillisecond;
  return spec.bucket_us > 0 ? 0 : kSecond;
}

int64_t TextStep(const Spec& spec) {
  if (spec.info().digits > 0) return StepOf(spec);
  const uint32_t units = CalendarUnits(spec.format);
  if ((units & kUnitMillisecond) != 0) return kUsPerMs;
  if ((units & kUnitSecond) != 0) return kUsPerSecond;
  if ((units & kUnitMinute) != 0) return kUsPerMinute;
  return (units & kUnitHour) != 0 ? 60 * kUsPerMinute : kUsPerDay;
}

TimeRange PeriodOf(const Spec& spec, TimeUs t) {
  assert(spec.is_time());
  const int64_t step = StepOf(spec);
  return step == 0 ? CalendarPeriod(spec.format, t) : StepAround(t, step);
}

std::optional<TimeRange> FindPeriod(const Spec& spec, std::string_view text) {
  assert(spec.is_time());
  const int64_t step = StepOf(spec);
  if (step == 0) return FindCalendarPeriod(spec.format, text);
  if (text.size() != FixedWidth(spec)) return std::nullopt;
  std::optional<int64_t> number = ParseDigits(text);
  if (!number) return std::nullopt;
  if (spec.info().descends) number = std::numeric_limits<int64_t>::max() - *number;
  const int64_t digit = spec.info().digit_us;
  if (*number > kMaxTimeUs / digit) return std::nullopt;
  const TimeUs t = *number * digit;
  if (t % step != 0) return std::nullopt;
  return StepAround(t, step);
}

Result<TimeRange> ParseTimeSpec(const Spec& spec, std::string_view text) {
  const std::optional<TimeRange> period = FindPeriod(spec, text);
  if (!period) return Invalid("\"" + std::string(text) + "\" is no time of that form");
  return *period;
}

}  // namespace tallyd
