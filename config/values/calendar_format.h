// strftime formats of row keys: the letters, what a format tells about time, and text in both
// directions. Part of config/schema/spec.h, which is what the rest of tallyd uses.
#ifndef TALLYD_CONFIG_VALUES_CALENDAR_FORMAT_H_
#define TALLYD_CONFIG_VALUES_CALENDAR_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "config/values/time.h"

namespace tallyd {

// The letters that a format holds, as a set.
enum CalendarUnit : uint32_t {
  kUnitYear = 1,           // %Y
  kUnitShortYear = 2,      // %y
  kUnitMonth = 4,          // %m
  kUnitDay = 8,            // %d %-d
  kUnitYearDay = 16,       // %j
  kUnitIsoYear = 32,       // %G
  kUnitIsoWeek = 64,       // %V
  kUnitHour = 128,         // %H
  kUnitMinute = 256,       // %M
  kUnitSecond = 512,       // %S
  kUnitMillisecond = 1024  // %L
};

struct CalendarTraits {
  uint32_t units = 0;
  size_t width = 0;     // In bytes; 0 when it varies (%-d).
  bool sorts = false;   // Units of fixed width from the year downwards without a gap.
  bool bounds = false;  // Names one period, not one that recurs.
};

// Whether these units, wherever they stand, name one period (bounds), and one of a millisecond.
bool UnitsBoundTime(uint32_t units);
bool UnitsTellMillisecond(uint32_t units);

Result<CalendarTraits> CheckCalendarFormat(std::string_view format);

// The rest requires a format that passed the check.
size_t CalendarWidth(std::string_view format);
uint32_t CalendarUnits(std::string_view format);
void AppendCalendar(std::string_view format, TimeUs t, std::string* out);
TimeRange CalendarPeriod(std::string_view format, TimeUs t);
// How many bytes at the start of `text` have the format's form; npos when they do not. A day
// without padding takes both digits where there are two.
size_t MatchCalendar(std::string_view format, std::string_view text);
// The period that the text names; all of time where the text recurs.
std::optional<TimeRange> FindCalendarPeriod(std::string_view format, std::string_view text);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_CALENDAR_FORMAT_H_
