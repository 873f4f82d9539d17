// Times: int64 microseconds since the epoch inside, UTC only, 0 to kMaxTimeUs. Milliseconds in
// HTTP, with decimals when a time is no whole millisecond. Ranges are half-open: [from, to).
#ifndef TALLYD_CONFIG_VALUES_TIME_H_
#define TALLYD_CONFIG_VALUES_TIME_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "config/values/value.h"

namespace tallyd {

using TimeUs = int64_t;

inline constexpr TimeUs kMaxTimeUs =
    9'999'999'999'999'999;  // The last microsecond of 9999999999999 ms.
inline constexpr int64_t kUsPerMs = 1000;
inline constexpr int64_t kUsPerSecond = 1'000'000;
inline constexpr int64_t kUsPerDay = 86'400 * kUsPerSecond;

struct TimeRange {
  TimeUs from = 0;
  TimeUs to = kMaxTimeUs + 1;

  bool Contains(TimeUs t) const { return from <= t && t < to; }
  bool is_open() const { return from <= 0 && to > kMaxTimeUs; }  // Bounds nothing.
  bool is_empty() const { return from >= to; }
  // The smallest that has both; an empty one has nothing.
  TimeRange Joined(const TimeRange& other) const {
    if (is_empty()) return other;
    if (other.is_empty()) return *this;
    return {std::min(from, other.from), std::max(to, other.to)};
  }
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

enum class TimeUnit : uint8_t { kSeconds, kMilliseconds, kMicroseconds, kNanoseconds };

std::string_view ToString(TimeUnit unit);  // "s", "ms", "us", "ns"
std::string_view Spelled(TimeUnit unit);   // "seconds", "milliseconds", ...

// The time that an event's field says: an integer or decimal number in `unit`, or an RFC 3339
// string. Finer input is truncated to a microsecond. The message of the error names what was found
// and what is accepted, or the unit that may be meant. `text` is the number's as it was sent, where
// it is known: its digits count then, since a double has no more than 15 to 17 of them, and rounds.
Result<TimeUs> ParseEventTime(const Value& value, TimeUnit unit, std::string_view text = {});
// For messages: that this stands where a time is due, and what is accepted.
std::string NotATime(std::string_view found, std::optional<TimeUnit> unit = {});
// For messages: which other unit the number may be in, since it is a time of `plausible` in it:
// "; if microseconds are meant, it is 2023-11-14T22:13:20Z". Empty: in none, or it is no number.
std::string UnitHint(const Value& value, TimeUnit unit, const TimeRange& plausible);

// RFC 3339 with a zone (Z or an offset): "2021-03-05T12:00:00Z", "2021-03-05 12:00:00.5+01:00".
Result<TimeUs> ParseRfc3339(std::string_view text);

// A bound of a query or a removal: milliseconds, RFC 3339, "now" or "-15m"; what is no number is
// clamped to [0, kMaxTimeUs + 1]. Refused, with a hint, are whole numbers from 1 to 99,999,999,999,
// as meant in seconds, what is above 9,999,999,999,999, as meant in microseconds or nanoseconds,
// and what is below 0, as a time before now without a unit; decimals between are taken, and the end
// of all times with decimals.
Result<TimeUs> ParseQueryTime(std::string_view text, TimeUs now);

// "500ms", "5s", "30m", "1h", "7d", "2w" -> microseconds. Positive.
Result<int64_t> ParseDuration(std::string_view text);
// The largest unit that divides it: "90m", "1d".
std::string FormatDuration(int64_t us);

// Appends a time in `unit`, with decimals where it is finer: 1426535612045 or 1426535612045.123.
void AppendTime(TimeUs t, TimeUnit unit, std::string* out);
// The same, written to where there is room for kMaxTimeText; returns the end. That is a sign, 19
// digits, and a point or the zeros of nanoseconds.
inline constexpr size_t kMaxTimeText = 23;
char* WriteTime(TimeUs t, TimeUnit unit, char* to);
std::string FormatRfc3339(TimeUs t);  // "2015-03-16T19:53:32.045Z"

struct CivilTime {
  int year, month, day;  // 1-based month and day.
  int hour, minute, second;
  int microsecond;
  int weekday;   // 0 = Sunday.
  int year_day;  // 1-based.
  int iso_year, iso_week;
};
CivilTime ToCivil(TimeUs t);
// Days since the epoch of a proleptic Gregorian date (Howard Hinnant, "chrono-Compatible Low-Level
// Date Algorithms").
int64_t DaysFromCivil(int year, int month, int day);

// The wall clock, and beside it the monotonic one; injected so that tests can set them.
// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimeUs Now() const = 0;
  // Counts from an unknown beginning, never goes back, and nobody can set it. It stands still while
  // the machine sleeps.
  virtual int64_t SteadyUs() const;
};

class SystemClock final : public Clock {
 public:
  TimeUs Now() const override;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_TIME_H_
