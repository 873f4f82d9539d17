// One step through a strftime format: a letter with its unit, or a byte of text. Shared by the
// files of config/values/calendar_format.h.
#ifndef TALLYD_CONFIG_VALUES_CALENDAR_TOKEN_H_
#define TALLYD_CONFIG_VALUES_CALENDAR_TOKEN_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/values/calendar_format.h"
#include "config/values/time.h"

namespace tallyd {

inline constexpr char kCalendarLetters[] =
    "accepted are %Y %m %d %H %M %S %j %G %V %y %L %-d %% and text";

struct CalendarToken {
  uint32_t unit;  // A CalendarUnit; 0: `text` stands for itself.
  size_t width;   // In bytes; 0 for %-d.
  char text = '\0';

  bool is_bare() const { return width == 0; }  // %-d: one digit or two.
};

// Nothing when a letter is unknown or missing.
inline std::optional<CalendarToken> TakeCalendarToken(std::string_view* rest) {
  const char first = rest->front();
  rest->remove_prefix(1);
  if (first != '%') return CalendarToken{0, 1, first};
  if (rest->starts_with("-d")) {
    rest->remove_prefix(2);
    return CalendarToken{kUnitDay, 0};
  }
  if (rest->empty()) return std::nullopt;
  const char letter = rest->front();
  rest->remove_prefix(1);
  switch (letter) {
    case 'Y':
      return CalendarToken{kUnitYear, 4};
    case 'm':
      return CalendarToken{kUnitMonth, 2};
    case 'd':
      return CalendarToken{kUnitDay, 2};
    case 'H':
      return CalendarToken{kUnitHour, 2};
    case 'M':
      return CalendarToken{kUnitMinute, 2};
    case 'S':
      return CalendarToken{kUnitSecond, 2};
    case 'j':
      return CalendarToken{kUnitYearDay, 3};
    case 'G':
      return CalendarToken{kUnitIsoYear, 4};
    case 'V':
      return CalendarToken{kUnitIsoWeek, 2};
    case 'y':
      return CalendarToken{kUnitShortYear, 2};
    case 'L':
      return CalendarToken{kUnitMillisecond, 3};
    case '%':
      return CalendarToken{0, 1, '%'};
    default:
      return std::nullopt;
  }
}

inline int UnitOf(const CivilTime& civil, uint32_t unit) {
  switch (unit) {
    case kUnitYear:
      return civil.year;
    case kUnitShortYear:
      return civil.year % 100;
    case kUnitMonth:
      return civil.month;
    case kUnitDay:
      return civil.day;
    case kUnitYearDay:
      return civil.year_day;
    case kUnitIsoYear:
      return civil.iso_year;
    case kUnitIsoWeek:
      return civil.iso_week;
    case kUnitHour:
      return civil.hour;
    case kUnitMinute:
      return civil.minute;
    case kUnitSecond:
      return civil.second;
    default:
      return civil.microsecond / 1000;
  }
}

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_CALENDAR_TOKEN_H_
