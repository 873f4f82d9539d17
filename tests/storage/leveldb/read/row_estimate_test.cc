// How many rows ranges hold, and where to cut them, without reading all of them.
#include "storage/leveldb/read/row_estimate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/storage/leveldb/history_maker.h"

namespace tallyd {
namespace {

class RowEstimateTest : public ::testing::Test, public HistoryMaker {
 protected:
  RowEstimateTest() { Open(); }

  static std::string KeyOf(int i) { return fmt::format("{:06}", i); }
  static std::vector<HistoryEntry> Rows(int begin, int end, int entries = 1) {
    std::vector<HistoryEntry> rows;
    for (int i = begin; i < end; ++i) {
      for (int e = 0; e < entries; ++e) {
        rows.push_back({KeyOf(i), 1000 + i * 10 + e, static_cast<uint64_t>(e + 1), i});
      }
    }
    return rows;
  }
  uint64_t Estimate(const std::vector<KeyRange>& ranges, uint64_t count_at_most = 1'000'000) {
    const auto lease = NewLease();
    return EstimateHistoryRows(lease.get(), kTable, ranges, count_at_most).value();
  }
  std::vector<KeyRange> Split(const KeyRange& range, size_t parts, const TimeRange& time = {}) {
    return SplitRange(*database().view(), kTable, range, time, parts);
  }
};

TEST_F(RowEstimateTest, RowsOfHeadsAreCounted) {
  Put(Rows(0, 50, 10));
  BeginHead();
  Put(Rows(50, 60));
  EXPECT_EQ(Estimate({{}}), 60u);
  EXPECT_EQ(Estimate({{KeyOf(10), KeyOf(20)}}), 10u);
  EXPECT_EQ(Estimate({{KeyOf(10), KeyOf(20)}, {KeyOf(45), ""}}), 25u);
  EXPECT_EQ(Estimate({{"x", "y"}}), 0u);
  EXPECT_EQ(Estimate({{"y", "x"}}), 0u);
}

TEST_F(RowEstimateTest, RowsOfFilesComeFromTheirIndexes) {
  MakeFile(Rows(0, 10'000));
  EXPECT_EQ(Estimate({{}}), 10'000u);
  EXPECT_EQ(Estimate({{KeyOf(1000), KeyOf(9000)}}), 8000u);
  EXPECT_EQ(Estimate({{KeyOf(5), KeyOf(6)}}), 1u);
  EXPECT_EQ(Estimate({{KeyOf(20'000), ""}}), 0u);
}

TEST_F(RowEstimateTest, RowsInSeveralPlacesCountInEach) {
  MakeFile(Rows(0, 100));
  Put(Rows(50, 150));
  EXPECT_EQ(Estimate({{}}), 200u);
}

TEST_F(RowEstimateTest, CountingStopsSomewhatBehindTheLimit) {
  Put(Rows(0, 5000));
  const uint64_t rows = Estimate({{}}, 10);
  EXPECT_GE(rows, 10u);
  EXPECT_LT(rows, 1000u);
}

TEST_F(RowEstimateTest, OfManyRangesTheFirstFewBlocksAreOpened) {
  MakeFile(Rows(0, 60'000));
  std::vector<KeyRange> ranges;
  for (int i = 0; i < 25; ++i) ranges.push_back({KeyOf(i * 2300), KeyOf(i * 2300 + 100)});
  const uint64_t rows = Estimate(ranges);
  EXPECT_GT(rows, 2000u);
  EXPECT_LT(rows, 3000u);
}

TEST_F(RowEstimateTest, WhileTheDatabaseIsClosedNobodyKnows) {
  const auto lease = NewLease();
  database().Close();
  const KeyRange all;
  const auto rows = EstimateHistoryRows(lease.get(), kTable, {&all, 1}, 10);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code(), ErrorCode::kUnavailable);
}

TEST_F(RowEstimateTest, BytesOnDiskAreThoseOfTheTablesFiles) {
  EXPECT_EQ(DiskBytes(*database().view(), kTable), 0u);
  MakeFile(Rows(0, 100));
  MakeFile(Rows(100, 200));
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : database().view()->FilesOf(kTable)) bytes += file->info().bytes;
  EXPECT_EQ(DiskBytes(*database().view(), kTable), bytes);
  EXPECT_EQ(DiskBytes(*database().view(), kTable + 1), 0u);
}

TEST_F(RowEstimateTest, PartsFollowEachOtherAndAreTheRange) {
  MakeFile(Rows(0, 60'000));
  for (const size_t parts : {2u, 4u, 7u}) {
    const KeyRange range{KeyOf(5000), KeyOf(55'000)};
    const std::vector<KeyRange> split = Split(range, parts);
    ASSERT_GT(split.size(), 1u);
    ASSERT_LE(split.size(), parts);
    EXPECT_EQ(split.front().start, range.start);
    EXPECT_EQ(split.back().end, range.end);
    for (size_t i = 0; i < split.size(); ++i) {
      if (i > 0) {
        EXPECT_EQ(split[i].start, split[i - 1].end);
      }
      const uint64_t rows = Estimate({split[i]});
      EXPECT_GT(rows, 25'000 / split.size());
      EXPECT_LT(rows, 100'000 / split.size());
    }
  }
}

TEST_F(RowEstimateTest, LittleIsNotCut) {
  MakeFile(Rows(0, 10'000));
  Put(Rows(10'000, 10'100));
  EXPECT_EQ(Split({}, 8), std::vector<KeyRange>{{}});
  EXPECT_EQ(Split({}, 0), std::vector<KeyRange>{{}});
}

TEST_F(RowEstimateTest, OnlyBlocksOfThatTimeCount) {
  MakeFile(Rows(0, 60'000));
  EXPECT_GT(Split({}, 4).size(), 1u);
  EXPECT_EQ(Split({}, 4, {0, 2000}).size(), 1u);
}

}  // namespace
}  // namespace tallyd
