#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "config/values/time.h"

namespace tallyd {
namespace {

TEST(CivilTimeTest, TakesATimeApart) {
  const CivilTime t = ToCivil(1'426'535'612'045'123);
  EXPECT_EQ(t.year, 2015);
  EXPECT_EQ(t.month, 3);
  EXPECT_EQ(t.day, 16);
  EXPECT_EQ(t.hour, 19);
  EXPECT_EQ(t.minute, 53);
  EXPECT_EQ(t.second, 32);
  EXPECT_EQ(t.microsecond, 45'123);
  EXPECT_EQ(t.weekday, 1);
  EXPECT_EQ(t.year_day, 75);
  EXPECT_EQ(t.iso_year, 2015);
  EXPECT_EQ(t.iso_week, 12);
}

TEST(CivilTimeTest, AnIsoWeekBelongsToTheYearOfItsThursday) {
  struct Case {
    int year, month, day, iso_year, iso_week;
  };
  for (const Case& c :
       {Case{2021, 1, 3, 2020, 53}, Case{2021, 1, 4, 2021, 1}, Case{2018, 12, 31, 2019, 1},
        Case{2017, 1, 1, 2016, 52}, Case{2020, 12, 31, 2020, 53}, Case{2021, 3, 5, 2021, 9},
        Case{2017, 7, 26, 2017, 30}, Case{1970, 1, 1, 1970, 1}}) {
    const CivilTime t = ToCivil(DaysFromCivil(c.year, c.month, c.day) * kUsPerDay);
    EXPECT_EQ(t.iso_year, c.iso_year) << c.year << "-" << c.month << "-" << c.day;
    EXPECT_EQ(t.iso_week, c.iso_week) << c.year << "-" << c.month << "-" << c.day;
  }
}

TEST(CivilTimeTest, AgreesWithTheLibraryOverTheWholeRange) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto t = static_cast<TimeUs>(random() % static_cast<uint64_t>(kMaxTimeUs));
    const std::time_t seconds = t / kUsPerSecond;
    std::tm expected = {};
    gmtime_r(&seconds, &expected);
    char week[16];
    std::strftime(week, sizeof week, "%G %V", &expected);
    const CivilTime civil = ToCivil(t);
    ASSERT_EQ(civil.year, expected.tm_year + 1900) << t;
    ASSERT_EQ(civil.month, expected.tm_mon + 1) << t;
    ASSERT_EQ(civil.day, expected.tm_mday) << t;
    ASSERT_EQ(civil.hour, expected.tm_hour) << t;
    ASSERT_EQ(civil.minute, expected.tm_min) << t;
    ASSERT_EQ(civil.second, expected.tm_sec) << t;
    ASSERT_EQ(civil.weekday, expected.tm_wday) << t;
    ASSERT_EQ(civil.year_day, expected.tm_yday + 1) << t;
    ASSERT_EQ(std::to_string(civil.iso_year) + (civil.iso_week < 10 ? " 0" : " ") +
                  std::to_string(civil.iso_week),
              week)
        << t;
    ASSERT_EQ(DaysFromCivil(civil.year, civil.month, civil.day), t / kUsPerDay);
  }
}

TEST(CivilTimeTest, TimesBeforeTheEpochCountDownwards) {
  const CivilTime t = ToCivil(-1);
  EXPECT_EQ(t.year, 1969);
  EXPECT_EQ(t.second, 59);
  EXPECT_EQ(t.microsecond, 999'999);
  EXPECT_EQ(t.weekday, 3);
  EXPECT_EQ(DaysFromCivil(1969, 12, 31), -1);
  EXPECT_EQ(DaysFromCivil(0, 3, 1), -719'468);
}

}  // namespace
}  // namespace tallyd
