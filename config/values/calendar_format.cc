#include "config/values/calendar_format.h"

#include <array>
#include <cassert>

#include "config/values/calendar_token.h"
#include "config/values/digits.h"

namespace tallyd {
namespace {

constexpr uint32_t kClock = kUnitHour | kUnitMinute | kUnitSecond | kUnitMillisecond;
constexpr uint32_t kAnyYear = kUnitYear | kUnitShortYear;
constexpr uint32_t kAnyDay = kUnitDay | kUnitYearDay;
constexpr uint32_t kIso = kUnitIsoYear | kUnitIsoWeek;

Error FormatError(std::string_view format, std::string_view what) {
  return Invalid("\"" + std::string(format) + "\": " + std::string(what));
}

// Each unit may be followed by those that divide it, so that the text ascends.
bool Follows(uint32_t before, uint32_t unit) {
  switch (unit) {
    case kUnitYear:
    case kUnitIsoYear:
      return before == 0;
    case kUnitMonth:
    case kUnitYearDay:
      return before == kUnitYear;
    case kUnitDay:
      return before == kUnitMonth;
    case kUnitIsoWeek:
      return before == kUnitIsoYear;
    case kUnitHour:
      return (before & kAnyDay) != 0;
    case kUnitMinute:
      return before == kUnitHour;
    case kUnitSecond:
      return before == kUnitMinute;
    case kUnitMillisecond:
      return before == kUnitSecond;
    default:
      return false;
  }
}

}  // namespace

bool UnitsBoundTime(uint32_t units) {
  const bool month = (units & kAnyYear) != 0 && (units & kUnitMonth) != 0;
  const bool day = (month && (units & kUnitDay) != 0) ||
                   ((units & kAnyYear) != 0 && (units & kUnitYearDay) != 0);
  if ((units & kClock) != 0) {
    // From the hour down without a gap: the set of hour, minute, ... is a run of low bits.
    const uint32_t clock = (units & kClock) / kUnitHour;
    return day && (clock & (clock + 1)) == 0;
  }
  if ((units & kAnyDay) != 0) return day;
  // An ISO year is no calendar year: only together with its own week does it name a period.
  if ((units & kIso) != 0) return (units & (kAnyYear | kUnitMonth)) == 0 && (units & kUnitIsoYear);
  return (units & kAnyYear) != 0;
}

bool UnitsTellMillisecond(uint32_t units) {
  return (units & kUnitMillisecond) != 0 && UnitsBoundTime(units);
}

Result<CalendarTraits> CheckCalendarFormat(std::string_view format) {
  CalendarTraits traits;
  traits.sorts = true;
  bool fixed = true;
  uint32_t before = 0;
  bool after_bare_day = false;
  for (std::string_view rest = format; !rest.empty();) {
    const std::optional<CalendarToken> token = TakeCalendarToken(&rest);
    if (!token) {
      return FormatError(format, kCalendarLetters);
    }
    if (after_bare_day && (token->unit != 0 || IsDigit(token->text))) {
      return Error(
          ErrorCode::kUnprocessable,
          FormatError(format, "after %-d comes text that is no digit, or nothing").message());
    }
    after_bare_day = token->is_bare();
    fixed = fixed && !token->is_bare();
    traits.width += token->width;
    if (token->unit == 0) continue;
    traits.sorts = traits.sorts && !token->is_bare() && Follows(before, token->unit);
    before = token->unit;
    traits.units |= token->unit;
  }
  if (traits.units == 0) return FormatError(format, "it tells no time");
  if (!fixed) traits.width = 0;
  traits.bounds = UnitsBoundTime(traits.units);
  return traits;
}

size_t CalendarWidth(std::string_view format) {
  size_t width = 0;
  while (!format.empty()) {
    const std::optional<CalendarToken> token = TakeCalendarToken(&format);
    if (!token || token->is_bare()) return 0;
    width += token->width;
  }
  return width;
}

uint32_t CalendarUnits(std::string_view format) {
  uint32_t units = 0;
  while (!format.empty()) {
    if (const auto token = TakeCalendarToken(&format)) units |= token->unit;
  }
  return units;
}

void AppendCalendar(std::string_view format, TimeUs t, std::string* out) {
  const CivilTime civil = ToCivil(t);
  while (!format.empty()) {
    const std::optional<CalendarToken> token = TakeCalendarToken(&format);
    assert(token);
    if (token->unit == 0) {
      out->push_back(token->text);
    } else if (token->is_bare()) {
      AppendNumber(static_cast<uint64_t>(civil.day), out);
    } else {
      AppendDigits(static_cast<uint64_t>(UnitOf(civil, token->unit)), token->width, out);
    }
  }
}

}  // namespace tallyd
