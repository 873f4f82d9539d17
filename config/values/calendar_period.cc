// The reading half of config/values/calendar_format.h: from an instant or from text to the period
// around it.
#include <algorithm>
#include <array>
#include <bit>

#include "config/values/calendar_format.h"
#include "config/values/calendar_token.h"
#include "config/values/digits.h"

namespace tallyd {
namespace {

constexpr int64_t kUsPerHour = 3600 * kUsPerSecond;

TimeRange Floor(TimeUs t, int64_t length) {
  const TimeUs from = t / length * length;
  return {from, from + length};
}

TimeRange Days(int64_t first, int64_t last) { return {first * kUsPerDay, last * kUsPerDay}; }

// 1970-01-01 was a Thursday; weeks begin on Monday.
int64_t MondayOf(int64_t day) { return day - (day + 3) % 7; }

// The week of January 4th is the first of an ISO year.
int64_t FirstMonday(int iso_year) { return MondayOf(DaysFromCivil(iso_year, 1, 4)); }

TimeRange Narrowed(TimeRange a, TimeRange b) {
  return {std::max(a.from, b.from), std::min(a.to, b.to)};
}

// What a text's letters said; a letter that it lacks stays -1.
class UnitValues {
 public:
  UnitValues() { values_.fill(-1); }

  // False when the same letter said something else before, or the number is out of range.
  bool Set(uint32_t unit, int value) {
    int& known = At(unit);
    const bool agrees = known < 0 || known == value;
    known = value;
    return agrees && Plausible(unit, value);
  }
  bool Has(uint32_t unit) const { return Get(unit) >= 0; }
  int Get(uint32_t unit) const { return values_[static_cast<size_t>(std::countr_zero(unit))]; }

 private:
  int& At(uint32_t unit) { return values_[static_cast<size_t>(std::countr_zero(unit))]; }

  static bool Plausible(uint32_t unit, int value) {
    switch (unit) {
      case kUnitYear:
      case kUnitIsoYear:
        return value >= 1970;
      case kUnitMonth:
        return value >= 1 && value <= 12;
      case kUnitDay:
        return value >= 1 && value <= 31;
      case kUnitYearDay:
        return value >= 1 && value <= 366;
      case kUnitIsoWeek:
        return value >= 1 && value <= 53;
      case kUnitHour:
        return value < 24;
      case kUnitMinute:
      case kUnitSecond:
        return value < 60;
      default:
        return true;
    }
  }

  std::array<int, 11> values_;
};

// Reads the letters in order; the number of bytes they took, or npos.
size_t Scan(std::string_view format, std::string_view text, UnitValues* values) {
  std::string_view rest = text;
  while (!format.empty()) {
    const std::optional<CalendarToken> token = TakeCalendarToken(&format);
    if (!token) return std::string_view::npos;
    if (token->unit == 0) {
      if (rest.empty() || rest[0] != token->text) return std::string_view::npos;
      rest.remove_prefix(1);
      continue;
    }
    size_t width = token->width;
    if (token->is_bare()) width = std::min<size_t>(LeadingDigits(rest.substr(0, 2)), 2);
    if (width == 0 || rest.size() < width) return std::string_view::npos;
    if (token->is_bare() && rest[0] == '0') return std::string_view::npos;
    const std::optional<int64_t> value = ParseDigits(rest.substr(0, width));
    if (!value || !values->Set(token->unit, static_cast<int>(*value))) {
      return std::string_view::npos;
    }
    rest.remove_prefix(width);
  }
  return text.size() - rest.size();
}

// An instant within the period that the letters name, if they name one.
TimeUs InstantOf(const UnitValues& values) {
  int year = values.Get(kUnitYear);
  if (year < 0) {
    const int in_century = values.Get(kUnitShortYear);
    year = in_century < 70 ? 2000 + in_century : 1900 + in_century;
  }
  int64_t day = 0;
  if (values.Has(kUnitYearDay)) {
    day = DaysFromCivil(year, 1, 1) + values.Get(kUnitYearDay) - 1;
  } else if (values.Has(kUnitIsoYear) && !values.Has(kUnitDay)) {
    day = FirstMonday(values.Get(kUnitIsoYear)) + 7 * (std::max(values.Get(kUnitIsoWeek), 1) - 1);
    day = std::max<int64_t>(day, 0);  // The first week holds days before the epoch.
  } else {
    day =
        DaysFromCivil(year, std::max(values.Get(kUnitMonth), 1), std::max(values.Get(kUnitDay), 1));
  }
  return day * kUsPerDay + std::max(values.Get(kUnitHour), 0) * kUsPerHour +
         std::max(values.Get(kUnitMinute), 0) * 60 * kUsPerSecond +
         std::max(values.Get(kUnitSecond), 0) * kUsPerSecond +
         std::max(values.Get(kUnitMillisecond), 0) * kUsPerMs;
}

bool DayExistsInSomeYear(const UnitValues& values) {
  if (!values.Has(kUnitMonth) || !values.Has(kUnitDay)) return true;
  constexpr int kLeapYear = 2000;
  const int month = values.Get(kUnitMonth);
  const int64_t length =
      DaysFromCivil(kLeapYear + month / 12, month % 12 + 1, 1) - DaysFromCivil(kLeapYear, month, 1);
  return values.Get(kUnitDay) <= length;
}

// The period of a format without a unit of a day or less.
TimeRange LongPeriod(uint32_t units, TimeUs t) {
  const CivilTime civil = ToCivil(t);
  TimeRange period;
  if ((units & kUnitIsoWeek) != 0) {
    const int64_t monday = MondayOf(t / kUsPerDay);
    period = Narrowed(period, Days(monday, monday + 7));
  }
  if ((units & kUnitMonth) != 0) {
    period = Narrowed(period,
                      Days(DaysFromCivil(civil.year, civil.month, 1),
                           DaysFromCivil(civil.year + civil.month / 12, civil.month % 12 + 1, 1)));
  }
  if ((units & (kUnitYear | kUnitShortYear)) != 0) {
    period = Narrowed(period,
                      Days(DaysFromCivil(civil.year, 1, 1), DaysFromCivil(civil.year + 1, 1, 1)));
  }
  if ((units & kUnitIsoYear) != 0) {
    period = Narrowed(period, Days(FirstMonday(civil.iso_year), FirstMonday(civil.iso_year + 1)));
  }
  return period;
}

}  // namespace

TimeRange CalendarPeriod(std::string_view format, TimeUs t) {
  const uint32_t units = CalendarUnits(format);
  TimeRange period;
  if ((units & kUnitMillisecond) != 0) {
    period = Floor(t, kUsPerMs);
  } else if ((units & kUnitSecond) != 0) {
    period = Floor(t, kUsPerSecond);
  } else if ((units & kUnitMinute) != 0) {
    period = Floor(t, 60 * kUsPerSecond);
  } else if ((units & kUnitHour) != 0) {
    period = Floor(t, kUsPerHour);
  } else if ((units & (kUnitDay | kUnitYearDay)) != 0) {
    period = Floor(t, kUsPerDay);
  } else {
    period = LongPeriod(units, t);
  }
  return Narrowed(period, TimeRange());
}

size_t MatchCalendar(std::string_view format, std::string_view text) {
  UnitValues values;
  return Scan(format, text, &values);
}

std::optional<TimeRange> FindCalendarPeriod(std::string_view format, std::string_view text) {
  UnitValues values;
  if (Scan(format, text, &values) != text.size()) return std::nullopt;
  if (!UnitsBoundTime(CalendarUnits(format))) {
    if (!DayExistsInSomeYear(values)) return std::nullopt;
    return TimeRange();
  }
  // February 30th, week 53 of a year with 52, a date beyond the end of time: none of them comes
  // back as the text that it was read from.
  const TimeUs t = InstantOf(values);
  if (t < 0 || t > kMaxTimeUs) return std::nullopt;
  std::string again;
  AppendCalendar(format, t, &again);
  if (again != text) return std::nullopt;
  return CalendarPeriod(format, t);
}

}  // namespace tallyd
