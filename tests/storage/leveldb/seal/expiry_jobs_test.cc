// CapJob, and what is told of reclaimed space. That files expire: file_jobs_test.cc.
#include <gtest/gtest.h>

#include <string>

#include "storage/leveldb/seal/file_jobs.h"
#include "tests/storage/leveldb/seal/sealer_fixture.h"

namespace tallyd {
namespace {

// A table of rows with a kilobyte of noise each, in windows of a day.
class CapJobTest : public SealerFixture {
 protected:
  static constexpr uint64_t kDayBytes = 100'000;  // About, of a day's rows.

  Schema Capped(uint64_t max_bytes, const std::string& name = "H") {
    Table table = MakeTable(name);
    if (max_bytes > 0) table.max_bytes = max_bytes;
    return MakeSchema({table});
  }
  static TimeUs Day(int day) { return (10'000 + day) * kUsPerDay; }
  void PutDay(int day, int rows = 100) {
    auto batch = NewBatch();
    for (int i = 0; i < rows; ++i) {
      const TimeUs time = Day(day) + i * (kUsPerDay / rows);
      std::string noise;
      for (int k = 0; k < 1000; ++k) {
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        noise.push_back(static_cast<char>(random_ >> 33));
      }
      StoreHarness::Put(batch.get(), "H", std::to_string(time), time,
                        {{"A", "x", Value::Bytes(noise)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  uint64_t DiskBytes() { return store().Stats(Find("H")).disk_bytes; }
  TimeUs WholeFrom() { return Find("H")->families[0].whole_from; }

  uint64_t random_ = 1;
};

TEST_F(CapJobTest, TheOldestWindowsGoUntilTheRestFits) {
  Open();
  ASSERT_TRUE(Adopt(Capped(3 * kDayBytes + kDayBytes / 2)));
  for (int day = 0; day < 6; ++day) PutDay(day);
  ASSERT_TRUE(store().Settle());
  EXPECT_LE(DiskBytes(), 3 * kDayBytes + kDayBytes / 2);
  const Rows rows = Read("H");
  EXPECT_EQ(rows.size(), 300u);
  EXPECT_EQ(rows.front().first, std::to_string(Day(3)));
  EXPECT_EQ(WholeFrom(), Day(3));
  EXPECT_EQ(Metric("tallyd_capped_files_total"), 3);
  EXPECT_GT(Metric("tallyd_capped_bytes_total"), 3 * 90'000);
}

TEST_F(CapJobTest, WhatFitsStays) {
  Open();
  ASSERT_TRUE(Adopt(Capped(3 * kDayBytes)));
  PutDay(0);
  PutDay(1);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Read("H").size(), 200u);
  EXPECT_EQ(WholeFrom(), 0);
}

TEST_F(CapJobTest, ALowerCapOfAReloadIsAppliedToo) {
  Open();
  ASSERT_TRUE(Adopt(Capped(0)));
  for (int day = 0; day < 4; ++day) PutDay(day);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Read("H").size(), 400u);
  ASSERT_TRUE(Adopt(Capped(kDayBytes + kDayBytes / 2)));
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Read("H").size(), 100u);
}

TEST_F(CapJobTest, ThatSomethingWentIsKnownAfterARestart) {
  Open();
  ASSERT_TRUE(Adopt(Capped(kDayBytes + kDayBytes / 2)));
  PutDay(0);
  PutDay(1);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(WholeFrom(), Day(1));
  Reopen();
  EXPECT_EQ(WholeFrom(), Day(1));
  EXPECT_EQ(Read("H").size(), 100u);
}

TEST_F(CapJobTest, WhatIsWrittenLaterForATimeThatWentIsStored) {
  Open();
  ASSERT_TRUE(Adopt(Capped(2 * kDayBytes + kDayBytes / 2)));
  for (int day = 0; day < 4; ++day) PutDay(day);
  ASSERT_TRUE(store().Settle());
  Put("H", "late", Day(0) + 1, 5);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Read("H").size(), 201u);
}

TEST_F(CapJobTest, ACorrectionAndWhatItCorrectsGoTogether) {
  Open();
  ASSERT_TRUE(Adopt(Capped(2 * kDayBytes + kDayBytes / 2)));
  Put("H", "row", Day(0) + 5, 1);
  PutDay(0);
  ASSERT_TRUE(store().Settle());
  Put("H", "row", Day(0) + 5, 2);
  for (int day = 1; day < 4; ++day) PutDay(day);
  ASSERT_TRUE(store().Settle());
  for (const auto& [key, cells] : Read("H")) EXPECT_NE(key, "row");
}

TEST_F(CapJobTest, OfASingleWindowTheOldestPartIsCutOff) {
  Open();
  ASSERT_TRUE(Adopt(Capped(2 * kDayBytes)));
  PutDay(0, 400);
  ASSERT_TRUE(store().Settle());
  EXPECT_LT(Read("H").size(), 200u);
  EXPECT_GT(Read("H").size(), 80u);
  EXPECT_GT(WholeFrom(), Day(0));
  EXPECT_EQ(Metric("tallyd_capped_cuts_total"), 1);
  ASSERT_TRUE(store().Settle());
  EXPECT_LE(DiskBytes(), 2 * kDayBytes);
  EXPECT_EQ(Metric("tallyd_capped_cuts_total"), 1);
}

using ReclaimedTest = SealerFixture;

TEST_F(ReclaimedTest, FilesThatExpiredAreCounted) {
  Table table = MakeTable("H");
  for (Family& family : table.families) family.max_age_us = kUsPerDay;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  PutRows("H", "r", 10);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Metric("tallyd_expired_files_total"), 0);
  clock.Pass(kUsPerDay + 1);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Metric("tallyd_expired_files_total"), 1);
  EXPECT_GT(Metric("tallyd_expired_bytes_total"), 0);
}

TEST_F(ReclaimedTest, CellsBeyondTheVersionsAreCounted) {
  Table table = MakeTable("H");
  for (Family& family : table.families) family.max_versions = 1;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  for (int i = 0; i < 5; ++i) Put("H", "row", clock.Now() + i, i);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Metric("tallyd_gc_cells_total"), 4);
  EXPECT_EQ(Read("H").front().second.size(), 1u);
}

TEST_F(ReclaimedTest, CellsThatWereOverwrittenOrDeletedAreCounted) {
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  Put("H", "row", 5, 1);
  Put("H", "row", 5, 2);
  Put("H", "gone", 5, 1);
  ASSERT_TRUE(Erase("H", RowDelete("gone", "gonf")));
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Metric("tallyd_gc_cells_total"), 2);
}

TEST_F(ReclaimedTest, RowsOfLatestTablesThatWereSweptAreCounted) {
  Table table = MakeTable("L", Pattern::kLatest);
  for (Family& family : table.families) family.max_age_us = kUsPerDay;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  PutRows("L", "r", 10);
  ASSERT_TRUE(store().Settle());
  clock.Pass(kUsPerDay + 1);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Metric("tallyd_gc_latest_rows_total"), 10);
}

}  // namespace
}  // namespace tallyd
