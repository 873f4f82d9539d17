#include "api/opentsdb/query_time.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

constexpr TimeUs kNow = 1'700'000'000'000'000;

TEST(OpentsdbTimeTest, ATimeIsSecondsMillisecondsADateOrAgo) {
  EXPECT_EQ(ParseOpentsdbTime("1356998400", kNow).value(), 1'356'998'400'000'000);
  EXPECT_EQ(ParseOpentsdbTime("1356998400250", kNow).value(), 1'356'998'400'250'000);
  EXPECT_EQ(ParseOpentsdbTime("1356998400.250", kNow).value(), 1'356'998'400'250'000);
  EXPECT_EQ(ParseOpentsdbTime("1h-ago", kNow).value(), kNow - 3600 * kUsPerSecond);
  EXPECT_EQ(ParseOpentsdbTime("90000y-ago", kNow).value(), 0);
  EXPECT_EQ(ParseOpentsdbTime("now", kNow).value(), kNow);
  EXPECT_EQ(ParseOpentsdbTime("2013/01/01-00:00:00", kNow).value(), 1'356'998'400'000'000);
  EXPECT_EQ(ParseOpentsdbTime("2013/01/01 00:01", kNow).value(), 1'356'998'460'000'000);
  EXPECT_EQ(ParseOpentsdbTime("2013/01/01", kNow).value(), 1'356'998'400'000'000);
}

TEST(OpentsdbTimeTest, WhatIsNoTimeIsRefused) {
  for (const char* text : {"", "-1", "1x-ago", "0s-ago", "-ago", "12.", "1.2.3", "2013/02/30",
                           "2013/01/01-24:00:00", "2013/01", "2013/01/01-", "2013/01/01-00",
                           "99999999999999999999", "20130/01/01", "yesterday"}) {
    EXPECT_FALSE(ParseOpentsdbTime(text, kNow)) << text;
  }
}

TEST(OpentsdbTimeTest, ADownsampleHasAnIntervalAnAggregatorAndMaybeAFill) {
  const auto plain = ParseOpentsdbDownsample("5m-zimsum", 0, false).value();
  EXPECT_EQ(plain.downsample.steps, SeriesSteps::Of(300 * kUsPerSecond));
  EXPECT_EQ(plain.downsample.aggregation, SeriesAggregation::kZimsum);
  EXPECT_FALSE(plain.downsample.fill.fills);
  const auto filled = ParseOpentsdbDownsample("1m-avg-scalar#-2.5", 0, false).value();
  EXPECT_EQ(filled.downsample.fill, (StepFill{true, Value::Decimal(-25, 1)}));
  EXPECT_TRUE(ParseOpentsdbDownsample("1m-avg-null", 0, false).value().blank_is_null);
  EXPECT_EQ(ParseOpentsdbDownsample("1nc-max", 0, false).value().downsample.steps,
            SeriesSteps::OfMonths(1));
  EXPECT_EQ(ParseOpentsdbDownsample("2y-max", 0, true).value().downsample.steps,
            SeriesSteps::OfMonths(24));
  EXPECT_EQ(ParseOpentsdbDownsample("0all-max", 7, false).value().downsample.steps,
            SeriesSteps::OfAll(7));
}

TEST(OpentsdbTimeTest, WhatIsNoDownsampleIsRefused) {
  for (const char* text : {"", "1m", "1m-", "1m-none", "1m-nothing", "m-avg", "0m-avg", "1x-avg",
                           "1m-avg-so", "1m-avg-scalar#", "9999999nc-avg"}) {
    EXPECT_FALSE(ParseOpentsdbDownsample(text, 0, false)) << text;
  }
}

}  // namespace
}  // namespace tallyd
