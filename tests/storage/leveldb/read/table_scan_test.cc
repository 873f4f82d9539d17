#include "storage/leveldb/read/table_scan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "storage/blocks/key_runs.h"
#include "tests/storage/leveldb/read/merge_model.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

// Runs and rows of a history table: together they are what rows alone are.

constexpr TimeUs kFirst = 1'000'000'000'000'000;

std::string RowOf(int i) { return fmt::format("m#{}", kFirst / 1000 + i * 1000); }
TimeUs TimeOf(int i) { return kFirst + i * 1'000'000; }

class RunsOfHistory : public HistoryMaker {
 protected:
  RunsOfHistory() { Open(); }

  std::vector<HistoryEntry> Series(int begin, int end, uint64_t sequence) {
    std::vector<HistoryEntry> entries;
    for (int i = begin; i < end; ++i) entries.push_back({RowOf(i), TimeOf(i), sequence, i});
    return entries;
  }
  // Runs are taken apart again: each entry is a row's part.
  ScannedRows Scan(const ScanSpec& spec, const DeleteList& deletes = {}) {
    HistoryRuns scan(table(), spec, sets(), NewLease(), deletes);
    ScannedRows rows;
    in_runs_ = 0;
    while (true) {
      const Result<bool> more = scan.Next();
      EXPECT_TRUE(more);
      if (!more || !*more) return rows;
      if (scan.run() != nullptr) {
        AddRun(*scan.run(), &rows);
        continue;
      }
      rows.push_back(ScannedRow(scan.row().key));
      for (const RowPart& part : scan.row().parts) {
        for (const CellView& cell : scan.row().CellsOf(part)) {
          AddCell(part.time, cell.value, &rows.back());
        }
      }
    }
  }
  void AddRun(const ColumnRun& run, ScannedRows* rows) {
    in_runs_ += run.times.size();
    std::string key;
    for (size_t i = 0; i < run.times.size(); ++i) {
      const std::string before = std::exchange(key, KeyIn(run, run.times[i]));
      if (i == 0) {
        EXPECT_EQ(key, run.first_key);
      }
      if (i == 0 || key != before) rows->push_back(ScannedRow(key));
      const RunColumn& column = run.columns[0];
      AddCell(run.times[i], column.data->At(column.begin + i), &rows->back());
    }
    EXPECT_EQ(key, run.last_key);
  }
  static std::string KeyIn(const ColumnRun& run, TimeUs time) {
    std::string key(run.first_key);
    if (run.key_time != KeyTime::kNone) RenderKeyTime(run.key_time, time, &key[run.key_place]);
    return key;
  }

  size_t in_runs_ = 0;
};

class HistoryRunsTest : public ::testing::Test, public RunsOfHistory {};
class HistoryRunsRandomTest : public ::testing::TestWithParam<unsigned>, public RunsOfHistory {};

TEST_P(HistoryRunsRandomTest, RunsAndRowsAreWhatRowsAloneAre) {
  std::mt19937_64 random(GetParam());
  const RandomEntries history(random, this);
  for (int round = 0; round < 20; ++round) {
    const ScanSpec spec = RandomSpec(random);
    ScannedRows rows = Scan(spec, history.deletes);
    // A row can come in pieces where a block ends in its midst.
    for (size_t i = 1; i < rows.size();) {
      const std::string key = rows[i].substr(0, rows[i].find(':') + 1);
      if (rows[i - 1].starts_with(key)) {
        rows[i - 1] += " " + rows[i].substr(key.size());
        rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    ASSERT_EQ(rows, ExpectedRows(history.all, spec, history.deletes));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, HistoryRunsRandomTest, ::testing::Range(1u, 21u));

TEST_F(HistoryRunsTest, WhatAFileAloneHasComesAsRuns) {
  MakeFile(Series(0, 100, 1));
  MakeFile(Series(100, 150, 2));
  EXPECT_EQ(Scan({}).size(), 150u);
  EXPECT_EQ(in_runs_, 150u);
}

TEST_F(HistoryRunsTest, WhereAHeadOverlapsRowsCome) {
  MakeFile(Series(0, 100, 1));
  Put(Series(50, 60, 2));
  EXPECT_EQ(Scan({}).size(), 100u);
  EXPECT_EQ(in_runs_, 90u);
}

TEST_F(HistoryRunsTest, TimesOutsideOfTheRangeArePassedOver) {
  MakeFile(Series(0, 100, 1));
  ScanSpec spec;
  spec.cells = {TimeOf(20), TimeOf(40)};
  const ScannedRows rows = Scan(spec);
  ASSERT_EQ(rows.size(), 20u);
  EXPECT_TRUE(rows.front().starts_with(RowOf(20)));
  EXPECT_EQ(in_runs_, 20u);
}

TEST_F(HistoryRunsTest, WhereADeleteMayHideSomethingRowsCome) {
  MakeFile(Series(0, 100, 1));
  DeleteSpec what;
  what.rows = {RowOf(10), RowOf(20)};
  const DeleteList deletes = {std::make_shared<const DeleteRange>(kTable, 5, what)};
  EXPECT_EQ(Scan({}, deletes).size(), 90u);
  EXPECT_EQ(in_runs_, 0u) << "of one block";
}

TEST_F(HistoryRunsTest, WhatIsPastItsAgeIsInNoRun) {
  rules().max_age_us = 1'000'000;
  MakeFile(Series(0, 100, 1));
  ScanSpec spec;
  spec.now = TimeOf(91);
  EXPECT_EQ(Scan(spec).size(), 10u);
}

TEST_F(HistoryRunsTest, AReopenEndsTheScan) {
  MakeFile(Series(0, 10, 1));
  HistoryRuns scan(table(), {}, sets(), NewLease(), {});
  database().Close();
  const Result<bool> more = scan.Next();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), ErrorCode::kUnavailable);
}

// Scans of a latest table, through the store: in pieces, from both ends, in ranges.

class LatestScanTest : public ::testing::Test, public StoreHarness {
 protected:
  LatestScanTest() {
    Open();
    EXPECT_TRUE(Adopt(MakeSchema({MakeTable("L", Pattern::kLatest)})));
  }

  static std::string KeyOf(int i) { return fmt::format("{:05}", i); }
  void PutRows(int count) {
    auto batch = NewBatch();
    for (int i = 0; i < count; ++i) {
      Put(batch.get(), "L", KeyOf(i), 1000 + i, {{"A", "x", Value::Int(i)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  std::vector<std::string> Keys(const ScanSpec& spec) {
    std::vector<std::string> keys;
    for (const auto& [key, cells] : Read("L", spec)) keys.push_back(key);
    return keys;
  }
  std::vector<std::string> Expected(int begin, int end) {
    std::vector<std::string> keys;
    for (int i = begin; i < end; ++i) keys.push_back(KeyOf(i));
    return keys;
  }
  std::unique_ptr<RowScan> Scan(bool reverse = false) {
    ScanSpec spec;
    spec.reverse = reverse;
    spec.now = clock.Now();
    return store().Scan(Find("L"), spec);
  }
  static std::string Next(RowScan* scan) {
    return scan->Next().value() ? std::string(scan->row().key) : "(end)";
  }
};

TEST_F(LatestScanTest, ManyRowsComeInOrderFromBothEnds) {
  PutRows(2000);
  ScanSpec spec;
  EXPECT_EQ(Keys(spec), Expected(0, 2000));
  spec.reverse = true;
  std::vector<std::string> backwards = Expected(0, 2000);
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(Keys(spec), backwards);
}

TEST_F(LatestScanTest, RangesAndALimitBoundIt) {
  PutRows(200);
  ScanSpec spec;
  spec.ranges = {{KeyOf(10), KeyOf(12)}, {KeyOf(50), KeyOf(53)}, {KeyOf(198), ""}};
  const std::vector<std::string> all = {KeyOf(10), KeyOf(11),  KeyOf(50), KeyOf(51),
                                        KeyOf(52), KeyOf(198), KeyOf(199)};
  EXPECT_EQ(Keys(spec), all);
  spec.limit = 3;
  EXPECT_EQ(Keys(spec), std::vector(all.begin(), all.begin() + 3));
  spec.reverse = true;
  EXPECT_EQ(Keys(spec), (std::vector{KeyOf(199), KeyOf(198), KeyOf(52)}));
}

TEST_F(LatestScanTest, ASkipGoesForwardWithinAChunkAndBeyondIt) {
  PutRows(300);
  const auto scan = Scan();
  EXPECT_EQ(Next(scan.get()), KeyOf(0));
  scan->SkipTo(KeyOf(5));
  EXPECT_EQ(Next(scan.get()), KeyOf(5));
  scan->SkipTo(KeyOf(2));
  EXPECT_EQ(Next(scan.get()), KeyOf(6)) << "never back";
  scan->SkipTo(KeyOf(250) + "x");
  EXPECT_EQ(Next(scan.get()), KeyOf(251));
  scan->SkipTo("x");
  EXPECT_EQ(Next(scan.get()), "(end)");
}

TEST_F(LatestScanTest, BackwardsASkipGoesToTheLastRowAtOrBeforeTheKey) {
  PutRows(300);
  const auto scan = Scan(true);
  EXPECT_EQ(Next(scan.get()), KeyOf(299));
  scan->SkipTo(KeyOf(295));
  EXPECT_EQ(Next(scan.get()), KeyOf(295));
  scan->SkipTo(KeyOf(100) + "x");
  EXPECT_EQ(Next(scan.get()), KeyOf(100));
  scan->SkipTo("");
  EXPECT_EQ(Next(scan.get()), "(end)");
}

TEST_F(LatestScanTest, OfEachColumnTheNewestCellIsReturnedOnly) {
  ASSERT_TRUE(Write("L", "r", 10, {{"A", "x", Value::Int(1)}, {"B", "y", Value::Int(1)}}));
  ASSERT_TRUE(Write("L", "r", 20, {{"A", "x", Value::Int(2)}}));
  ASSERT_TRUE(Write("L", "r", 15, {{"A", "x", Value::Int(3)}})) << "it comes late";
  EXPECT_EQ(Read("L"), (Rows{{"r", {{"A:x@20", "2"}, {"B:y@10", "1"}}}}));
}

TEST_F(LatestScanTest, TheNewestCellOutsideOfTheTimesAskedForHidesOlderOnes) {
  ASSERT_TRUE(Write("L", "r", 10, {{"A", "x", Value::Int(1)}, {"B", "y", Value::Int(1)}}));
  ASSERT_TRUE(Write("L", "r", 20, {{"A", "x", Value::Int(2)}}));
  ScanSpec spec;
  spec.cells = {0, 15};
  EXPECT_EQ(Read("L", spec), (Rows{{"r", {{"B:y@10", "1"}}}}));
}

TEST_F(LatestScanTest, ForKeysTheNewestPartIsEnough) {
  ASSERT_TRUE(Write("L", "r", 10, {{"B", "y", Value::Int(1)}}));
  ASSERT_TRUE(Write("L", "r", 20, {{"A", "x", Value::Int(2)}}));
  ScanSpec spec;
  spec.keys_only = true;
  EXPECT_EQ(Read("L", spec), (Rows{{"r", {{"A:x@20", "2"}}}}));
}

TEST_F(LatestScanTest, OnlyRowsWithAColumnThatIsAskedForAreReturned) {
  ASSERT_TRUE(Write("L", "a", 10, {{"A", "x", Value::Int(1)}}));
  ASSERT_TRUE(Write("L", "b", 10, {{"B", "y", Value::Int(1)}}));
  ScanSpec spec;
  spec.columns = {{"B", "*"}};
  EXPECT_EQ(Keys(spec), std::vector<std::string>{"b"});
  spec.columns = {{"C", "*"}};
  EXPECT_EQ(Keys(spec), std::vector<std::string>{});
}

TEST_F(LatestScanTest, RowsThatChangeMeanwhileComeOnceAndWhole) {
  PutRows(100);
  const auto scan = Scan();
  EXPECT_EQ(Next(scan.get()), KeyOf(0));
  PutRows(400);
  int rows = 1;
  std::string last = KeyOf(0);
  for (std::string key = Next(scan.get()); key != "(end)"; key = Next(scan.get())) {
    EXPECT_LT(last, key);
    last = key;
    ++rows;
  }
  EXPECT_GE(rows, 100);
  EXPECT_LE(rows, 400);
}

}  // namespace
}  // namespace tallyd
