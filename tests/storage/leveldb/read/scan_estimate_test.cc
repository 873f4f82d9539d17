#include <fmt/format.h>
#include <gtest/gtest.h>

#include "storage/leveldb/read/table_scan.h"
#include "tests/storage/leveldb/history_maker.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class ScanEstimateTest : public ::testing::Test, public StoreHarness {
 protected:
  static constexpr int kRows = 4000;

  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
    auto batch = NewBatch();
    for (int i = 0; i < kRows; ++i) {
      Put(batch.get(), "H", fmt::format("{:06}", i), 1000 + i,
          {{"A", "x", Value::Int(i)}, {"B", "y", Value::Int(i * 7)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }

  ScanEstimate Estimate(const KeyRange& range, TimeRange cells = {}, double share = 1) {
    const Result<ScanEstimate> estimate =
        store().Estimate(Find("H"), {{&range, 1}, cells, share, false, kRows});
    EXPECT_TRUE(estimate);
    return estimate ? *estimate : ScanEstimate();
  }
};

TEST_F(ScanEstimateTest, AHeadIsCounted) {
  const ScanEstimate part = Estimate({"000100", "000200"}, {1150, 5000});
  EXPECT_EQ(part.rows, 100u);
  EXPECT_EQ(part.entries, 50u);
  EXPECT_GT(part.bytes, 100u * 20);
  EXPECT_EQ(part.streams, 0u);
}

TEST_F(ScanEstimateTest, ABlockIsJudgedByItsPlaceInTheIndex) {
  ASSERT_TRUE(store().Settle());
  const ScanEstimate all = Estimate({});
  EXPECT_EQ(all.rows, static_cast<uint64_t>(kRows));
  EXPECT_EQ(all.entries, static_cast<uint64_t>(kRows));
  EXPECT_GE(all.streams, 3u) << "a head and two columns";
  const ScanEstimate part = Estimate({"001000", "002000"});
  EXPECT_NEAR(static_cast<double>(part.rows), 1000, 200);
  EXPECT_NEAR(static_cast<double>(part.entries), 1000, 200);
  EXPECT_LE(part.bytes, all.bytes);
  EXPECT_GE(part.rows, 1u);
  EXPECT_EQ(Estimate({"5", "6"}).rows, 0u);
  EXPECT_EQ(Estimate({}, {1'000'000, 2'000'000}).bytes, 0u) << "no block has such times";
}

TEST_F(ScanEstimateTest, OfSomeColumnsOnlyTheirShareIsRead) {
  ASSERT_TRUE(store().Settle());
  const KeyRange range{"001000", "002000"};
  EXPECT_LT(Estimate(range, {}, 0.5).bytes, Estimate(range).bytes);
  EXPECT_LT(Estimate(range, {}, 0.5).streams, Estimate(range).streams);
}

TEST_F(ScanEstimateTest, RangesOfOneBlockReadItOnce) {
  ASSERT_TRUE(store().Settle());
  const std::vector<KeyRange> ranges = {{"000010", "000011"}, {"000020", "000021"}};
  const Result<ScanEstimate> both = store().Estimate(Find("H"), {ranges});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->bytes, Estimate(ranges[0]).bytes);
  EXPECT_GE(both->rows, 2u);
}

// Twenty balloons fill a block: between the keys of two there is room for many times as many.
TEST_F(ScanEstimateTest, AnEntityAmongOthersInABlockCountsByItsRun) {
  auto batch = NewBatch();
  constexpr int64_t kStart = 1'700'000'000'000;
  for (int balloon = 0; balloon < 20; ++balloon) {
    for (int i = 0; i < 200; ++i) {
      const int64_t ms = kStart + i * 60'000;
      Put(batch.get(), "H", fmt::format("b{:02}#{}", balloon, ms), ms * 1000,
          {{"A", "x", Value::Int(i)}});
    }
  }
  ASSERT_TRUE(Commit(std::move(batch)));
  ASSERT_TRUE(store().Settle());
  const auto key = [](int64_t ms) { return fmt::format("b07#{}", ms); };
  const TimeRange half{kStart * 1000, (kStart + 100 * 60'000) * 1000};
  const ScanEstimate some = Estimate({key(kStart), key(kStart + 100 * 60'000)}, half);
  EXPECT_NEAR(static_cast<double>(some.entries), 100, 50);
  EXPECT_NEAR(static_cast<double>(Estimate({"b07#", "b07$"}).entries), 200, 100);
}

class HistoryEstimateTest : public ::testing::Test, public HistoryMaker {
 protected:
  HistoryEstimateTest() { Open(); }

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
    return EstimateHistory(lease.get(), kTable, {ranges, {}, 1, true, count_at_most})->rows;
  }
  std::vector<KeyRange> Split(const KeyRange& range, size_t parts, const TimeRange& time = {}) {
    return SplitRange(*database().view(), kTable, range, time, {parts, 8192});
  }
};

TEST_F(HistoryEstimateTest, RowsOfHeadsAreCounted) {
  Put(Rows(0, 50, 10));
  BeginHead();
  Put(Rows(50, 60));
  EXPECT_EQ(Estimate({{}}), 60u);
  EXPECT_EQ(Estimate({{KeyOf(10), KeyOf(20)}}), 10u);
  EXPECT_EQ(Estimate({{KeyOf(10), KeyOf(20)}, {KeyOf(45), ""}}), 25u);
  EXPECT_EQ(Estimate({{"x", "y"}}), 0u);
  EXPECT_EQ(Estimate({{"y", "x"}}), 0u);
}

TEST_F(HistoryEstimateTest, RowsOfFilesComeFromTheirIndexes) {
  MakeFile(Rows(0, 10'000));
  EXPECT_EQ(Estimate({{}}), 10'000u);
  EXPECT_NEAR(static_cast<double>(Estimate({{KeyOf(1000), KeyOf(9000)}})), 8000, 1000);
  EXPECT_EQ(Estimate({{KeyOf(5), KeyOf(6)}}), 1u);
  EXPECT_EQ(Estimate({{KeyOf(20'000), ""}}), 0u);
}

// Keys of files from 100 to 199, from 300 to 399 and so on.
TEST_F(HistoryEstimateTest, SeveralRangesHaveWhatEachOfThemHas) {
  for (int begin = 100; begin < 1000; begin += 200) MakeFile(Rows(begin, begin + 100));
  const std::vector<std::vector<int>> bounds = {
      {0, 50, 100, 120, 150, 160, 199, 200, 250, 260, 290, 301, 399, 700},
      {0, 100, 200, 300, 400, 450, 500, 600},
      {100, 199, 299, 300, 450, 700, 999, 1000},
      {50, 101, 101, 101, 110, 120, 998, 999, 1001, 1002},
      {0, 10, 10, 20, 20, 2000}};
  for (const std::vector<int>& of_ranges : bounds) {
    std::vector<KeyRange> ranges;
    uint64_t sum = 0;
    for (size_t i = 0; i + 1 < of_ranges.size(); i += 2) {
      ranges.push_back({KeyOf(of_ranges[i]), KeyOf(of_ranges[i + 1])});
      sum += Estimate({ranges.back()});
    }
    EXPECT_EQ(Estimate(ranges), sum);
    ranges.push_back({KeyOf(of_ranges.back()), ""});
    EXPECT_EQ(Estimate(ranges), sum + Estimate({ranges.back()}));
  }
  EXPECT_EQ(Estimate(std::vector<KeyRange>()), 0u);
}

TEST_F(HistoryEstimateTest, RowsInSeveralPlacesCountInEach) {
  MakeFile(Rows(0, 100));
  Put(Rows(50, 150));
  EXPECT_EQ(Estimate({{}}), 200u);
}

TEST_F(HistoryEstimateTest, CountingStopsSomewhatBehindTheLimit) {
  Put(Rows(0, 5000));
  const uint64_t rows = Estimate({{}}, 10);
  EXPECT_GE(rows, 10u);
  EXPECT_LT(rows, 1000u);
}

TEST_F(HistoryEstimateTest, WhileTheDatabaseIsClosedNobodyKnows) {
  const auto lease = NewLease();
  database().Close();
  const KeyRange all;
  const auto rows = EstimateHistory(lease.get(), kTable, {{&all, 1}});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code(), ErrorCode::kUnavailable);
}

TEST_F(HistoryEstimateTest, BytesOnDiskAreThoseOfTheTablesFiles) {
  EXPECT_EQ(DiskBytes(*database().view(), kTable), 0u);
  MakeFile(Rows(0, 100));
  MakeFile(Rows(100, 200));
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : database().view()->FilesOf(kTable)) bytes += file->info().bytes;
  EXPECT_EQ(DiskBytes(*database().view(), kTable), bytes);
  EXPECT_EQ(DiskBytes(*database().view(), kTable + 1), 0u);
}

TEST_F(HistoryEstimateTest, PartsFollowEachOtherAndAreTheRange) {
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

TEST_F(HistoryEstimateTest, LittleIsNotCut) {
  MakeFile(Rows(0, 10'000));
  Put(Rows(10'000, 10'100));
  EXPECT_EQ(Split({}, 8), std::vector<KeyRange>{{}});
  EXPECT_EQ(Split({}, 0), std::vector<KeyRange>{{}});
}

TEST_F(HistoryEstimateTest, OnlyBlocksOfThatTimeCount) {
  MakeFile(Rows(0, 60'000));
  EXPECT_GT(Split({}, 4).size(), 1u);
  EXPECT_EQ(Split({}, 4, {0, 2000}).size(), 1u);
}

}  // namespace
}  // namespace tallyd
