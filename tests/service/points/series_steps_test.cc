#include "service/points/series_steps.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TimeUs At(const char* text) { return ParseRfc3339(text).value(); }

TEST(SeriesStepsTest, OneLengthBeginsAtTheEpoch) {
  const SeriesSteps steps = SeriesSteps::Of(60 * kUsPerSecond);
  EXPECT_EQ(steps.StartOf(At("2015-03-16T19:53:32Z")), At("2015-03-16T19:53:00Z"));
  EXPECT_EQ(steps.StartBehind(At("2015-03-16T19:53:00Z")), At("2015-03-16T19:54:00Z"));
  EXPECT_EQ(steps.width_us(), 60 * kUsPerSecond);
}

TEST(SeriesStepsTest, WeeksBeginOnMondays) {
  const SeriesSteps steps = SeriesSteps::OfWeeks(1);
  EXPECT_EQ(steps.StartOf(At("2017-07-26T00:15:00Z")), At("2017-07-24T00:00:00Z"));
  EXPECT_EQ(steps.StartBehind(At("2017-07-26T00:15:00Z")), At("2017-07-31T00:00:00Z"));
  EXPECT_EQ(steps.StartOf(0), 0);
}

TEST(SeriesStepsTest, MonthsAndYearsAreThoseOfTheCalendar) {
  const TimeUs time = At("2016-02-29T12:00:00Z");
  EXPECT_EQ(SeriesSteps::OfMonths(1).StartOf(time), At("2016-02-01T00:00:00Z"));
  EXPECT_EQ(SeriesSteps::OfMonths(1).StartBehind(time), At("2016-03-01T00:00:00Z"));
  EXPECT_EQ(SeriesSteps::OfMonths(3).StartOf(time), At("2016-01-01T00:00:00Z"));
  EXPECT_EQ(SeriesSteps::OfMonths(12).StartBehind(time), At("2017-01-01T00:00:00Z"));
}

TEST(SeriesStepsTest, ARangeWidensToWholeStepsButForTheOnlyOne) {
  const TimeRange range = {90 * kUsPerSecond, 120 * kUsPerSecond + 1};
  EXPECT_EQ(SeriesSteps::Of(60 * kUsPerSecond).Whole(range),
            (TimeRange{60 * kUsPerSecond, 180 * kUsPerSecond}));
  EXPECT_EQ(SeriesSteps::OfAll(range.from).Whole(range), range);
  EXPECT_EQ(SeriesSteps::OfAll(range.from).StartOf(100 * kUsPerSecond), range.from);
}

}  // namespace
}  // namespace tallyd
