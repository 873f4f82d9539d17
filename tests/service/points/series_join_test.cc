#include "service/points/series_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "service/query/steps/exact.h"

namespace tallyd {
namespace {

// Points of two series, {second, number}, joined: "second=number second=number".
std::string Joined(SeriesAggregation joined_by, const std::vector<std::pair<int, int>>& first,
                   const std::vector<std::pair<int, int>>& second) {
  PointSet set;
  for (const auto* points : {&first, &second}) {
    PointSeries& series = set.series.emplace_back();
    for (const auto& [at, number] : *points) {
      series.points.push_back({at * kUsPerSecond, Value::Int(number)});
    }
  }
  const SeriesGroup group = {.members = {0, 1}, .tags = {}, .joined_tags = {}};
  SeriesJoin join(set, group, joined_by);
  std::string text;
  while (join.Next()) {
    text +=
        std::to_string(join.point().time / kUsPerSecond) + "=" + ToText(join.point().value) + " ";
  }
  return text;
}

TEST(SeriesJoinTest, ASumInterpolatesBetweenPointsAndNotBeyond) {
  EXPECT_EQ(Joined(SeriesAggregation::kSum, {{0, 10}, {20, 30}}, {{10, 1}, {30, 3}}),
            "0=10 10=21 20=32 30=3 ");
}

TEST(SeriesJoinTest, ZimsumAndCountTakeWhatIsThere) {
  EXPECT_EQ(Joined(SeriesAggregation::kZimsum, {{0, 10}, {20, 30}}, {{10, 1}, {20, 3}}),
            "0=10 10=1 20=33 ");
  EXPECT_EQ(Joined(SeriesAggregation::kCount, {{0, 10}, {20, 30}}, {{10, 1}, {20, 3}}),
            "0=1 10=1 20=2 ");
}

TEST(SeriesJoinTest, MimmaxMeetsNoInterpolatedNumber) {
  EXPECT_EQ(Joined(SeriesAggregation::kMimmax, {{0, 10}, {20, 30}}, {{10, 1}}), "0=10 10=1 20=30 ");
  EXPECT_EQ(Joined(SeriesAggregation::kMax, {{0, 10}, {20, 30}}, {{10, 1}}), "0=10 10=20 20=30 ");
}

TEST(SeriesJoinTest, AnAverageAndPercentilesOfIntegersAreExact) {
  EXPECT_EQ(Joined(SeriesAggregation::kAvg, {{0, 1}}, {{0, 2}}), "0=1.5 ");
  EXPECT_EQ(Joined(SeriesAggregation::kP50, {{0, 1}}, {{0, 4}}), "0=2.5 ");
  EXPECT_EQ(Joined(SeriesAggregation::kDev, {{0, 1}}, {{0, 4}}), "0=1.5 ");
  EXPECT_EQ(Joined(SeriesAggregation::kSum, {{0, 1}, {4, 2}}, {{1, 0}}), "0=1 1=1.25 4=2 ");
}

// As it is told, by looking at all series at each time.
std::string JoinedPlainly(const PointSet& set, SeriesAggregation joined_by) {
  std::set<TimeUs> times;
  for (const PointSeries& series : set.series) {
    for (const SeriesPoint& point : series.points) times.insert(point.time);
  }
  SeriesFold fold(joined_by);
  std::string text;
  for (const TimeUs time : times) {
    std::vector<Value> numbers;
    for (const PointSeries& series : set.series) {
      const auto next = std::ranges::lower_bound(series.points, time, {}, &SeriesPoint::time);
      if (next == series.points.end()) continue;
      if (next->time == time) {
        numbers.push_back(next->value);
      } else if (next != series.points.begin() && InfoOf(joined_by).interpolates) {
        const SeriesPoint& before = *std::prev(next);
        numbers.push_back(Between(before.value, next->value,
                                  static_cast<uint64_t>(time - before.time),
                                  static_cast<uint64_t>(next->time - before.time)));
      }
    }
    text += std::to_string(time) + "=" + ToText(fold.Of(numbers)) + " ";
  }
  return text;
}

TEST(SeriesJoinTest, ManySeriesThatComeAndGoAreJoinedAsOneByOne) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    PointSet set;
    SeriesGroup group;
    for (size_t i = 0; i < 1 + random() % 8; ++i) {
      std::set<TimeUs> times;
      for (size_t points = random() % 6; points > 0; --points) times.insert(random() % 30);
      group.members.push_back(set.series.size());
      PointSeries& series = set.series.emplace_back();
      for (const TimeUs time : times) {
        const auto number = static_cast<int64_t>(random() % 100);
        series.points.push_back({time, random() % 4 == 0
                                           ? Value::Double(0.25 * static_cast<double>(number))
                                           : Value::Int(number << (random() % 2 * 55))});
      }
    }
    for (const auto joined_by : {SeriesAggregation::kSum, SeriesAggregation::kMax,
                                 SeriesAggregation::kFirst, SeriesAggregation::kCount}) {
      std::string text;
      for (SeriesJoin join(set, group, joined_by); join.Next();) {
        text += std::to_string(join.point().time) + "=" + ToText(join.point().value) + " ";
      }
      ASSERT_EQ(text, JoinedPlainly(set, joined_by)) << InfoOf(joined_by).name << " " << round;
    }
  }
}

TEST(SeriesJoinTest, ABlankCountsNowhereAndKeepsItsPlace) {
  PointSet set;
  set.series.resize(2);
  set.series[0].points = {{0, Value()}, {1, Value::Int(5)}};
  set.series[1].points = {{0, Value()}, {1, Value()}};
  const SeriesGroup group = {.members = {0, 1}, .tags = {}, .joined_tags = {}};
  SeriesJoin join(set, group, SeriesAggregation::kSum);
  ASSERT_TRUE(join.Next());
  EXPECT_TRUE(join.point().value.is_null());
  ASSERT_TRUE(join.Next());
  EXPECT_EQ(join.point().value, Value::Int(5));
}

}  // namespace
}  // namespace tallyd
