#include "service/heat/heat_map.h"

#include <gtest/gtest.h>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr TimeUs kMinute = 60 * kUsPerSecond;
constexpr TimeUs kHour = 60 * kMinute;

constexpr const char* kHeatMapTables = R"(
[tables.HOT]
pattern = "single-timestamp"
row_key = "{user}#{ts:ms}"
families.F = {}
)";

// Rows of one table, counted, saved and charted by a clock of its own, over a real store.
class HeatMapTest : public testing::Test {
 protected:
  HeatMapTest() : world_(kHeatMapTables), now_(1'700'000'000'000'000) {}

  void Write(const std::string& stem, uint32_t count = 1) {
    RowStems stems;
    stems.Add(table(), stem, {now_, false, count});
    heat_->Add(HeatMetric::kWrites, stems, now_);
  }
  TableId table() { return world_.context().store.FindTable("HOT")->id; }
  void Save() { ASSERT_TRUE(heat_->Save(&world_.context().store, now_)); }
  void Restart(bool saved) {
    if (saved) Save();
    ASSERT_TRUE(world_.Restart(kHeatMapTables));
    heat_ = std::make_unique<HeatMap>();
  }
  HeatChart Chart(TimeRange time = {}) {
    const auto chart =
        heat_->Chart(&world_.context().store, {HeatMetric::kWrites, table()}, time, now_);
    EXPECT_TRUE(chart);
    return chart ? *chart : HeatChart();
  }
  uint64_t Total(TimeRange time = {}) {
    uint64_t total = 0;
    for (const uint64_t rows : Chart(time).totals) total += rows;
    return total;
  }
  size_t Memos() { return world_.context().store.Memos("heat/", 1000)->size(); }

  ApiWorld world_;
  std::unique_ptr<HeatMap> heat_ = std::make_unique<HeatMap>();
  TimeUs now_;
};

TEST_F(HeatMapTest, CountsAreThereAtOnce) {
  Write("a#", 2);
  EXPECT_EQ(2u, Total());
  EXPECT_EQ(now_ / kMinute, Chart().first_minute);
}

TEST_F(HeatMapTest, WhatWasSavedOutlivesARestart) {
  Write("a#", 2);
  now_ += kMinute;
  Write("b#", 3);
  Restart(true);
  EXPECT_EQ(5u, Total());
  Write("b#", 4);
  const HeatChart chart = Chart();
  EXPECT_EQ((std::vector<uint64_t>{2, 7}), chart.totals);
  EXPECT_EQ((std::vector<uint32_t>{2, 0, 0, 7}), chart.rows);
}

TEST_F(HeatMapTest, WhatIsSavedAgainAndAgainCountsOnce) {
  for (int i = 0; i < 5; ++i) {
    Write("a#");
    Save();
  }
  EXPECT_EQ(5u, Total());
  EXPECT_EQ(1u, Memos());
  Restart(true);
  EXPECT_EQ(5u, Total());
}

TEST_F(HeatMapTest, ADayOfHoursAddsUp) {
  for (int hour = 0; hour < 24; ++hour) {
    Write("a#");
    Save();
    now_ += kHour;
    Write("b#", 2);
    Save();
  }
  EXPECT_EQ(72u, Total());
  EXPECT_EQ(3u, Total({now_ - kHour, now_ + 1}) - Total({now_ - kHour + kMinute, now_}));
  EXPECT_EQ(25u, Memos());
  Restart(true);
  EXPECT_EQ(72u, Total());
}

TEST_F(HeatMapTest, AWeekIsKeptAndNoMore) {
  Write("old#");
  Save();
  now_ += 6 * kUsPerDay;
  Write("new#");
  Save();
  EXPECT_EQ(2u, Total());
  now_ += 2 * kUsPerDay;
  EXPECT_EQ(1u, Total());
  Save();
  EXPECT_EQ(1u, Memos());
}

TEST_F(HeatMapTest, ADroppedTableIsForgotten) {
  Write("a#");
  Save();
  const TableId before = table();
  ASSERT_TRUE(world_.Reload(
      "[tables.OTHER]\npattern = \"latest\"\nrow_key = \"{user}\"\nfamilies.F = {}\n"));
  ASSERT_TRUE(world_.context().store.DropTable("HOT"));
  now_ += 2 * kHour;
  Save();
  EXPECT_EQ(0u, Memos());
  EXPECT_GT(before, 0u);
}

TEST_F(HeatMapTest, WhatCouldNotBeSavedIsSavedLater) {
  Write("a#", 3);
  world_.context().store.Close();
  EXPECT_FALSE(heat_->Save(&world_.context().store, now_));
  EXPECT_FALSE(heat_->Save(&world_.context().store, now_ + kHour));
  ASSERT_TRUE(world_.Restart(kHeatMapTables));
  now_ += kHour;
  Write("a#", 4);
  EXPECT_EQ(7u, Total());
  Save();
  EXPECT_EQ(7u, Total());
  EXPECT_EQ(2u, Memos());
}

TEST_F(HeatMapTest, WritesAndReadsAreApart) {
  Write("a#", 3);
  RowStems stems;
  stems.Add(table(), "a#", {0, false, 5});
  heat_->Add(HeatMetric::kReads, stems, now_);
  EXPECT_EQ(3u, Total());
  const auto reads = heat_->Chart(&world_.context().store, {HeatMetric::kReads, table()}, {}, now_);
  EXPECT_EQ((std::vector<uint64_t>{5}), reads->totals);
}

}  // namespace
}  // namespace tallyd
