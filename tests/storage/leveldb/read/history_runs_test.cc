// Runs and rows of a history table: together they are what rows alone are.
#include "storage/leveldb/read/history_runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "storage/blocks/key_runs.h"
#include "tests/storage/leveldb/read/merge_model.h"

namespace tallyd {
namespace {

constexpr TimeUs kFirst = 1'000'000'000'000'000;

std::string RowOf(int i) { return fmt::format("m#{}", kFirst / 1000 + i * 1000); }
TimeUs TimeOf(int i) { return kFirst + TimeUs{i} * 1'000'000; }

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

TEST_F(HistoryRunsTest, NamesAloneComeWithoutValuesAndRowsBesideThemWhole) {
  MakeFile(Series(0, 100, 1));
  Put(Series(50, 60, 2));
  ScanSpec spec;
  spec.names_only = true;
  HistoryRuns scan(table(), spec, sets(), NewLease(), {});
  size_t in_runs = 0;
  size_t in_rows = 0;
  for (Result<bool> more = scan.Next(); more && *more; more = scan.Next()) {
    if (scan.run() == nullptr) {
      in_rows += scan.row().parts.size();
      EXPECT_FALSE(scan.row().cells.front().value.is_null());
      continue;
    }
    in_runs += scan.run()->times.size();
    ASSERT_EQ(scan.run()->columns.size(), 1u);
    EXPECT_EQ(scan.run()->columns[0].data, nullptr);
    EXPECT_EQ(scan.run()->columns[0].times.size(), scan.run()->times.size());
  }
  EXPECT_EQ(in_runs, 90u);
  EXPECT_EQ(in_rows, 10u);
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

}  // namespace
}  // namespace tallyd
