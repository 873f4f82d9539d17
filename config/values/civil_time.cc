// The calendar half of config/values/time.h.
#include "config/values/time.h"

namespace tallyd {
namespace {

constexpr int64_t kDaysPerEra = 146'097;         // 400 years.
constexpr int64_t kEpochFromYearZero = 719'468;  // Days from 0000-03-01 to 1970-01-01.

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

struct Date {
  int year, month, day;
};

// Years begin in March here, so that the leap day is a year's last.
Date DateOf(int64_t days) {
  const int64_t shifted = days + kEpochFromYearZero;
  const int64_t era = FloorDiv(shifted, kDaysPerEra);
  const int64_t day_of_era = shifted - era * kDaysPerEra;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const int64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  return {static_cast<int>(year), static_cast<int>(month), static_cast<int>(day)};
}

}  // namespace

int64_t DaysFromCivil(int year, int month, int day) {
  const int64_t y = month <= 2 ? year - 1 : year;
  const int64_t era = FloorDiv(y, 400);
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * kDaysPerEra + day_of_era - kEpochFromYearZero;
}

CivilTime ToCivil(TimeUs t) {
  const int64_t days = FloorDiv(t, kUsPerDay);
  const int64_t us_of_day = t - days * kUsPerDay;
  const Date date = DateOf(days);
  const int64_t seconds = us_of_day / kUsPerSecond;

  CivilTime civil = {};
  civil.year = date.year;
  civil.month = date.month;
  civil.day = date.day;
  civil.hour = static_cast<int>(seconds / 3600);
  civil.minute = static_cast<int>(seconds / 60 % 60);
  civil.second = static_cast<int>(seconds % 60);
  civil.microsecond = static_cast<int>(us_of_day % kUsPerSecond);
  civil.weekday = static_cast<int>(((days + 4) % 7 + 7) % 7);  // 1970-01-01 was a Thursday.
  civil.year_day = static_cast<int>(days - DaysFromCivil(date.year, 1, 1)) + 1;
  // An ISO week belongs to the year of its Thursday.
  const int64_t thursday = days - (civil.weekday + 6) % 7 + 3;
  civil.iso_year = DateOf(thursday).year;
  civil.iso_week = static_cast<int>((thursday - DaysFromCivil(civil.iso_year, 1, 1)) / 7) + 1;
  return civil;
}

}  // namespace tallyd
