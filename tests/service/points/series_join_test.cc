#include "service/points/series_join.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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
