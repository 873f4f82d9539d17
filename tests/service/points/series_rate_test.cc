#include "service/points/series_rate.h"

#include <gtest/gtest.h>

#include <vector>

namespace tallyd {
namespace {

// A point every ten seconds; -1 is a blank.
std::vector<SeriesPoint> RatesOf(const SeriesRate& rate, const std::vector<int64_t>& numbers) {
  std::vector<SeriesPoint> points;
  for (const int64_t number : numbers) {
    const auto time = static_cast<TimeUs>(points.size()) * 10 * kUsPerSecond;
    points.push_back({time, number < 0 ? Value() : Value::Int(number)});
  }
  TellRates(rate, &points);
  return points;
}

TEST(SeriesRateTest, EachPointIsTheGrowthASecondSinceTheOneBefore) {
  const auto rates = RatesOf({}, {100, 150, 130});
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_EQ(rates[0].time, 10 * kUsPerSecond);
  EXPECT_EQ(rates[0].value, Value::Double(5));
  EXPECT_EQ(rates[1].value, Value::Double(-2));
  EXPECT_TRUE(RatesOf({}, {100}).empty());
}

TEST(SeriesRateTest, ACounterGoesOnBehindItsEnd) {
  SeriesRate rate;
  rate.counts = true;
  rate.counter_end = Value::Int(255);
  EXPECT_EQ(RatesOf(rate, {250, 5}).front().value, Value::Double(1));
  rate.largest = 0.5;
  EXPECT_EQ(RatesOf(rate, {250, 5}).front().value, Value::Double(0));
  rate.drops_resets = true;
  EXPECT_TRUE(RatesOf(rate, {250, 5}).empty());
}

TEST(SeriesRateTest, NothingIsToldOfABlank) {
  const auto rates = RatesOf({}, {100, -1, 130, 140});
  ASSERT_EQ(rates.size(), 3u);
  EXPECT_TRUE(rates[0].value.is_null());
  EXPECT_TRUE(rates[1].value.is_null());
  EXPECT_EQ(rates[2].value, Value::Double(1));
}

}  // namespace
}  // namespace tallyd
