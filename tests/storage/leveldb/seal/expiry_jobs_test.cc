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
    for (int i = 0; i < rows; ++i) AddNoise(batch.get(), Day(day) + i * (kUsPerDay / rows));
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  void AddNoise(Batch* batch, TimeUs time) {
    std::string noise;
    for (int k = 0; k < 1000; ++k) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      noise.push_back(static_cast<char>(random_ >> 33));
    }
    StoreHarness::Put(batch, "H", std::to_string(time), time, {{"A", "x", Value::Bytes(noise)}});
  }
  uint64_t DiskBytes() { return store().Stats(Find("H"))->disk_bytes; }
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

// The clock is at the noon of the last day, whose events are up to then.
class CapAheadTest : public CapJobTest {
 protected:
  static constexpr int kToday = 6;
  static constexpr TimeUs kNoon = (10'000 + kToday) * kUsPerDay + kUsPerDay / 2;

  void Begin(uint64_t max_bytes) {
    clock.now = kNoon;
    Open();
    ASSERT_TRUE(Adopt(Capped(max_bytes)));
  }
  // Rows of the twelve hours before noon, each of a kilobyte.
  void PutMorning(int rows) {
    auto batch = NewBatch();
    for (int i = 0; i < rows; ++i) AddNoise(batch.get(), kNoon - kUsPerDay / 2 * (rows - i) / rows);
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  void PutAt(TimeUs time) {
    auto batch = NewBatch();
    AddNoise(batch.get(), time);
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  // How many rows have times from `from` up to `to`.
  size_t RowsIn(TimeUs from, TimeUs to) {
    ScanSpec spec;
    spec.cells = {from, to};
    return Read("H", spec).size();
  }
};

constexpr TimeUs kYear2100 = 4'102'444'800'000'000;

TEST_F(CapAheadTest, AnEventFarAheadOfTheClockMakesNothingElseGo) {
  for (const TimeUs stray : {kYear2100, kNoon + 11 * kUsPerDay / 24}) {
    for (const bool comes_first : {true, false}) {
      SCOPED_TRACE(testing::Message() << stray << " " << comes_first);
      Begin(2 * kDayBytes);
      if (comes_first) PutAt(stray);
      PutMorning(400);
      if (!comes_first) PutAt(stray);
      ASSERT_TRUE(store().Settle());
      ASSERT_TRUE(store().Settle());
      EXPECT_LE(DiskBytes(), 2 * kDayBytes);
      EXPECT_GT(RowsIn(0, kNoon + 1), 100u);
      constexpr TimeUs kTwoHours = kUsPerDay / 12;
      EXPECT_EQ(RowsIn(kNoon - kTwoHours, kNoon), 66u) << "the newest";
      EXPECT_LT(WholeFrom(), kNoon);
      ASSERT_TRUE(Adopt(MakeSchema({MakeTable("G")})));
      ASSERT_TRUE(store().DropTable("H"));
      Close();
    }
  }
}

TEST_F(CapAheadTest, WhatFitsBesideAnEventAheadStays) {
  Begin(3 * kDayBytes);
  PutMorning(100);
  PutAt(kYear2100);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Read("H").size(), 101u);
  EXPECT_EQ(WholeFrom(), 0);
}

TEST_F(CapAheadTest, OldDaysGoBeforeAnEventAheadThatCameAfterThem) {
  Begin(3 * kDayBytes + kDayBytes / 2);
  for (int day = 0; day < kToday; ++day) {
    PutDay(day);
    PutAt(kYear2100 + day * kUsPerDay);
    ASSERT_TRUE(store().Settle());
  }
  EXPECT_EQ(RowsIn(Day(0), Day(kToday)), 300u);
  EXPECT_EQ(RowsIn(kYear2100, kMaxTimeUs), 6u);
  EXPECT_EQ(WholeFrom(), Day(3));
}

// What many send with a clock that is ahead has no more right to stay than what came when it did.
TEST_F(CapAheadTest, MuchThatIsAheadGoesInTheOrderInWhichItCame) {
  Begin(3 * kDayBytes + kDayBytes / 2);
  for (int day = 0; day < 3; ++day) {
    PutDay(day);
    PutDay(30'000 - day);
    ASSERT_TRUE(store().Settle());
  }
  EXPECT_LE(DiskBytes(), 3 * kDayBytes + kDayBytes / 2);
  EXPECT_EQ(RowsIn(Day(2), Day(3)), 100u);
  EXPECT_EQ(RowsIn(Day(0), Day(1)), 0u);
  EXPECT_EQ(RowsIn(Day(30'000), Day(30'001)), 0u) << "it came first";
  EXPECT_EQ(RowsIn(Day(29'998), Day(29'999)), 100u);
}

TEST_F(CapAheadTest, WhatIsAheadInTheWindowOfNowTakesHalfAtMost) {
  Begin(2 * kDayBytes);
  PutMorning(200);
  auto batch = NewBatch();
  for (int i = 0; i < 400; ++i) AddNoise(batch.get(), kNoon + 1 + i * (kUsPerDay / 1000));
  ASSERT_TRUE(Commit(std::move(batch)));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(store().Settle());
  EXPECT_LE(DiskBytes(), 2 * kDayBytes);
  EXPECT_GT(RowsIn(0, kNoon + 1), 50u);
  EXPECT_GT(RowsIn(kNoon + 1, kMaxTimeUs), 50u);
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
