// Daily: the nightly tables of a table, `daily = { name = "SENSOR_{date}", at = "00:30", keep =
// "90d" }`: once a day the rows of the UTC day before are copied into a table of their own, named
// for it. Here is what the file says of them, and which names and days belong together.
//
//   daily.NameOf(day);                        // "SENSOR_20170726"
//   daily.FindDay("SENSOR_20170726");         // The midnight at which that day begins.
//
// A day is the midnight at which it begins, in microseconds. Plain values; pure.
#ifndef TALLYD_CONFIG_VALUES_DAILY_H_
#define TALLYD_CONFIG_VALUES_DAILY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "config/values/time.h"

namespace tallyd {

struct Daily {
  std::string before;  // What stands around {date} in the name.
  std::string after;
  int64_t at_us = 30 * 60 * int64_t{kUsPerSecond};  // Since midnight, UTC.
  std::optional<int64_t> keep_us;                   // None: for ever.

  std::string name() const { return before + "{date}" + after; }
  std::string NameOf(TimeUs day) const;
  // Nothing if it is no such name.
  std::optional<TimeUs> FindDay(std::string_view table) const;
  friend bool operator==(const Daily&, const Daily&) = default;
};

constexpr TimeUs DayOf(TimeUs t) { return t - t % kUsPerDay; }
constexpr TimeRange RangeOfDay(TimeUs day) { return {day, day + kUsPerDay}; }

// "20170726", and back; "2017-07-26" (a query's) to its day. Nothing where it is no date from 1970
// to 2286.
std::string CompactDate(TimeUs day);
std::optional<TimeUs> ParseCompactDate(std::string_view text);
std::string FormatDate(TimeUs day);
std::optional<TimeUs> ParseDate(std::string_view text);

// The name's two parts from its template. Invalid: not exactly one {date}, or other braces.
Result<Daily> ParseDailyName(std::string_view text);
// "00:30", and back to microseconds since midnight.
std::string FormatTimeOfDay(int64_t us);
std::optional<int64_t> ParseTimeOfDay(std::string_view text);

// Whether two templates may make one name.
bool MayShareNames(const Daily& a, const Daily& b);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_DAILY_H_
