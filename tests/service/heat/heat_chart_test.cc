#include "service/heat/heat_chart.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tallyd {
namespace {

HeatChunk Prefixes(std::vector<std::string> prefixes, std::vector<HeatMinute> minutes) {
  HeatChunk chunk;
  for (const std::string& prefix : prefixes) chunk.ranges.push_back(PrefixRange(prefix));
  chunk.minutes = std::move(minutes);
  return chunk;
}

HeatChart Make(const std::vector<HeatChunk>& chunks, int64_t first = 0, int64_t last = 1'000'000) {
  ChartMaker maker(first, last);
  for (const HeatChunk& chunk : chunks) maker.Learn(chunk);
  maker.Arrange();
  for (const HeatChunk& chunk : chunks) maker.Count(chunk);
  return std::move(maker).Take();
}

TEST(HeatChartTest, PutsChunksTogether) {
  const HeatChart chart = Make({Prefixes({"b#", "c#"}, {{10, {{0, 1, 1}, {1, 2, 0}}}}),
                                Prefixes({"a#", "b#"}, {{12, {{0, 4, 4}, {1, 8, 8}}}})});
  EXPECT_EQ((std::vector<KeyRange>{{"a#", "a$"}, {"b#", "b$"}, {"c#", "c$"}}), chart.ranges);
  EXPECT_EQ(10, chart.first_minute);
  EXPECT_EQ(3u, chart.minutes);
  EXPECT_EQ((std::vector<uint32_t>{0, 0, 4, 1, 0, 8, 2, 0, 0}), chart.rows);
  EXPECT_EQ((std::vector<uint64_t>{4, 9, 2}), chart.totals);
  EXPECT_EQ((std::vector<uint64_t>{4, 9, 0}), chart.at_ends);
}

TEST(HeatChartTest, WhatLiesOutsideOfTheTimeIsLeftOut) {
  const HeatChart chart = Make(
      {Prefixes({"a#", "b#"}, {{10, {{0, 1, 1}}}, {11, {{1, 2, 2}}}, {12, {{0, 3, 3}}}})}, 11, 11);
  EXPECT_EQ((std::vector<KeyRange>{{"b#", "b$"}}), chart.ranges);
  EXPECT_EQ(11, chart.first_minute);
  EXPECT_EQ((std::vector<uint32_t>{2}), chart.rows);
}

TEST(HeatChartTest, AMinuteThatIsThereTwiceIsAddedUp) {
  const HeatChart chart = Make({Prefixes({"a#"}, {{10, {{0, 1, 1}}}, {10, {{0, 2, 2}}}})});
  EXPECT_EQ((std::vector<uint32_t>{3}), chart.rows);
}

TEST(HeatChartTest, NothingCountedIsNoRange) {
  const HeatChart chart = Make({});
  EXPECT_TRUE(chart.ranges.empty());
  EXPECT_EQ(0u, chart.minutes);
}

TEST(HeatChartTest, RangesThatWereCutOtherwiseKeepTheTotals) {
  HeatChunk cut;
  cut.is_partition = true;
  cut.ranges = {{"", "m"}, {"m", ""}};
  cut.minutes = {{10, {{0, 5, 0}, {1, 6, 0}}}};
  const HeatChart chart = Make({Prefixes({"a#", "p#"}, {{9, {{0, 1, 1}, {1, 2, 2}}}}), cut});
  EXPECT_TRUE(chart.is_partition);
  EXPECT_EQ((std::vector<KeyRange>{{"", "a#"}, {"a#", "m"}, {"m", "p#"}, {"p#", ""}}),
            chart.ranges);
  EXPECT_EQ((std::vector<uint32_t>{0, 5, 1, 0, 0, 6, 2, 0}), chart.rows);
}

TEST(HeatChartTest, ManyPrefixesInAllOfTheTimeAreMerged) {
  std::vector<HeatChunk> chunks;
  for (int64_t minute = 0; minute < 3; ++minute) {
    HeatChunk chunk;
    chunk.minutes.push_back({minute, {}});
    for (uint32_t i = 0; i < 600; ++i) {
      chunk.ranges.push_back(PrefixRange(fmt::format("{:05}#", i * 3 + minute)));
      chunk.minutes[0].cells.push_back({i, i == 7 ? 1000u : 1u, 0});
    }
    chunks.push_back(std::move(chunk));
  }
  const HeatChart chart = Make(chunks);
  EXPECT_EQ(kMaxHeatRanges, chart.ranges.size());
  EXPECT_EQ(3u * (599 + 1000), std::accumulate(chart.totals.begin(), chart.totals.end(), 0ull));
  EXPECT_EQ(3, std::count(chart.totals.begin(), chart.totals.end(), 1000u));
}

}  // namespace
}  // namespace tallyd
