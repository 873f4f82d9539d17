#include "service/heat/heat_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <thread>

namespace tallyd {
namespace {

constexpr TableId kTable = 7;

// A table to which rows are added by stem, one at a time.
class HeatTableTest : public testing::Test {
 protected:
  void Write(const std::string& stem, uint32_t count = 1, TimeUs time = 0) {
    RowStems stems;
    stems.Add(kTable, stem, {time, false, count});
    table_.Add(stems.tables().front(), minute_);
  }
  // By the start of their range, over all minutes.
  static std::map<std::string, uint32_t> Rows(const HeatChunk& chunk) {
    std::map<std::string, uint32_t> rows;
    for (const HeatMinute& minute : chunk.minutes) {
      for (const HeatCell& cell : minute.cells) rows[chunk.ranges[cell.range].start] += cell.rows;
    }
    return rows;
  }
  static uint64_t Total(const HeatChunk& chunk) {
    uint64_t total = 0;
    for (const auto& [start, rows] : Rows(chunk)) total += rows;
    return total;
  }
  static std::string Stem(int number) { return fmt::format("machine_{:05}#", number); }

  HeatTable table_;
  int64_t minute_ = 1000;
};

TEST_F(HeatTableTest, EveryPrefixHasItsOwnRangeFromItsFirstRowOn) {
  Write("Sam#", 2);
  Write("Jo#");
  Write("Corrie#", 2);
  const HeatChunk chunk = table_.Chunk();
  EXPECT_EQ((std::vector<KeyRange>{{"Corrie#", "Corrie$"}, {"Jo#", "Jo$"}, {"Sam#", "Sam$"}}),
            chunk.ranges);
  EXPECT_EQ((std::map<std::string, uint32_t>{{"Corrie#", 2}, {"Jo#", 1}, {"Sam#", 2}}),
            Rows(chunk));
  EXPECT_FALSE(chunk.is_partition);
}

TEST_F(HeatTableTest, MinutesAreApartAndTheRunningOneIsIncluded) {
  Write("a#");
  ++minute_;
  Write("a#", 3);
  const HeatChunk chunk = table_.Chunk();
  ASSERT_EQ(2u, chunk.minutes.size());
  EXPECT_EQ((HeatMinute{1000, {{0, 1, 1}}}), chunk.minutes[0]);
  EXPECT_EQ((HeatMinute{1001, {{0, 3, 3}}}), chunk.minutes[1]);
}

TEST_F(HeatTableTest, RowsThatAreOlderThanAnotherOfTheirPrefixAreNotAtItsEnd) {
  Write("a#", 1, 50);
  Write("a#", 1, 40);
  Write("b#", 1, 10);
  EXPECT_EQ((std::vector<HeatCell>{{0, 2, 1}, {1, 1, 1}}), table_.Chunk().minutes[0].cells);
}

TEST_F(HeatTableTest, AWholeKeyIsARangeOfOneKey) {
  RowStems stems;
  stems.Add(kTable, "server1", {0, true, 1});
  table_.Add(stems.tables().front(), minute_);
  EXPECT_EQ((KeyRange{"server1", std::string("server1\0", 8)}), table_.Chunk().ranges[0]);
}

TEST_F(HeatTableTest, AThousandPrefixesAreCountedExactly) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) Write(Stem(i * 7 % 1000), static_cast<uint32_t>(i % 5 + 1));
  }
  const HeatChunk chunk = table_.Chunk();
  EXPECT_FALSE(chunk.is_partition);
  const auto rows = Rows(chunk);
  ASSERT_EQ(1000u, rows.size());
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(3u * static_cast<uint32_t>(i % 5 + 1), rows.at(Stem(i * 7 % 1000)));
  }
}

TEST_F(HeatTableTest, BeyondAThousandPrefixesRowsCountInTheRangeTheyFallInto) {
  for (int i = 0; i < 1000; ++i) Write(Stem(10 * i));
  Write(Stem(5), 3);           // Between the first two.
  Write("a", 4);               // Before all.
  Write("z", 5);               // Behind all.
  Write(Stem(9990) + "x", 6);  // Behind the last, with what it begins with.
  const HeatChunk chunk = table_.Chunk();
  EXPECT_TRUE(chunk.is_partition);
  ASSERT_EQ(1000u, chunk.ranges.size());
  EXPECT_EQ((KeyRange{"", Stem(10)}), chunk.ranges.front());
  EXPECT_EQ((KeyRange{Stem(9990), ""}), chunk.ranges.back());
  const auto rows = Rows(chunk);
  EXPECT_EQ(1u + 3 + 4, rows.at(""));
  EXPECT_EQ(1u + 5 + 6, rows.at(Stem(9990)));
  EXPECT_EQ(1u, rows.at(Stem(10)));
  EXPECT_EQ(1000u + 3 + 4 + 5 + 6, Total(chunk));
}

TEST_F(HeatTableTest, StemsThatAgreeInManyBytesAreToldApart) {
  const auto deep = [](int i) {
    return fmt::format("{:02}/{}/{:04}#", i % 40, std::string(20, 'x'), i);
  };
  for (int i = 0; i < 1001; ++i) Write(deep(i));
  for (int i = 0; i < 1000; ++i) Write(deep(i));
  EXPECT_TRUE(table_.Chunk().is_partition);
  EXPECT_EQ(2001u, Total(table_.Chunk()));
}

// Some told by eight bytes, some by more; shorter and longer ones, and what no range begins with.
TEST_F(HeatTableTest, EachOfManyRowsAtOnceCountsInTheLastRangeThatStartsBeforeIt) {
  std::mt19937 random(5);
  const auto any_stem = [&] {
    std::string stem = random() % 50 == 0 ? "sit" : "site/";
    stem += fmt::format("{}", random() % 3);
    if (random() % 2 == 0) stem += "/same for many/";
    stem += fmt::format("{:0{}}", random() % 3000, 1 + random() % 6);
    if (random() % 40 == 0) stem = fmt::format("{}", random() % 100);
    return stem;
  };
  while (!table_.Chunk().is_partition) Write(any_stem());
  // The ranges of the second chunk are others, with other numbers.
  for (int chunk = 0; chunk < 2; ++chunk) {
    std::map<std::string, uint32_t> expected = Rows(table_.Chunk());
    for (const KeyRange& range : table_.Chunk().ranges) expected.try_emplace(range.start);
    for (int batch = 0; batch < 300; ++batch) {
      RowStems stems;
      for (size_t i = random() % 40; i < 40; ++i) {
        const std::string stem = any_stem();
        stems.Add(kTable, stem, {0, false, 1});
        ++std::prev(expected.upper_bound(stem))->second;
      }
      table_.Add(stems.tables().front(), minute_);
    }
    for (const auto& [start, rows] : Rows(table_.Roll())) {
      EXPECT_EQ(expected[start], rows) << start;
      expected.erase(start);
    }
    for (const auto& [start, rows] : expected) EXPECT_EQ(0u, rows) << start;
  }
}

TEST_F(HeatTableTest, ANewChunkHasRangesByLoad) {
  for (int i = 0; i < 1001; ++i) Write("a" + Stem(i));
  // All of the load is on other keys, and half of it on one.
  for (int i = 0; i < 20'000; ++i) Write(i % 2 == 0 ? "hot#" : "m" + Stem(i));
  EXPECT_EQ(21'001u, Total(table_.Roll()));
  EXPECT_TRUE(table_.Chunk().minutes.empty());
  for (int i = 0; i < 20'000; ++i) Write(i % 2 == 0 ? "hot#" : "m" + Stem(i));
  const HeatChunk chunk = table_.Chunk();
  EXPECT_LE(chunk.ranges.size(), kMaxHeatRanges);
  const auto rows = Rows(chunk);
  EXPECT_EQ(10'000u, rows.at("hot#"));
  EXPECT_EQ(20'000u, Total(chunk));
  for (const auto& [start, count] : rows) {
    EXPECT_LT(count, start == "hot#" ? 10'001u : 200u) << start;
  }
}

// The next chunk's ranges are made of samples of the last one's rows.
TEST_F(HeatTableTest, RowsThatComeTogetherAreSampledAsIfEachCameAlone) {
  HeatTable together;
  std::mt19937 random(7);
  for (int batch = 0; batch < 3000; ++batch) {
    RowStems stems;
    for (size_t i = random() % 40; i < 40; ++i) {
      const std::string stem = Stem(static_cast<int>(random() % 3000));
      stems.Add(kTable, stem, {0, false, 1});
      Write(stem);
    }
    together.Add(stems.tables().front(), minute_);
  }
  table_.Roll();
  together.Roll();
  EXPECT_EQ(table_.Chunk().ranges, together.Chunk().ranges);
}

TEST_F(HeatTableTest, ANewChunkOfFewPrefixesBeginsWithNone) {
  Write("a#");
  table_.Roll();
  Write("b#");
  EXPECT_EQ((std::map<std::string, uint32_t>{{"b#", 1}}), Rows(table_.Chunk()));
}

TEST_F(HeatTableTest, TellsOnceThatSomethingChanged) {
  EXPECT_FALSE(table_.TakeChanged());
  Write("a#");
  EXPECT_TRUE(table_.TakeChanged());
  EXPECT_FALSE(table_.TakeChanged());
}

TEST_F(HeatTableTest, ManyThreadsLoseNoRow) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      RowStems stems;
      for (int i = 0; i < 100; ++i) stems.Add(kTable, Stem(i + thread * 400), {i, false, 1});
      for (int i = 0; i < 100; ++i) table_.Add(stems.tables().front(), minute_ + i % 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(40'000u, Total(table_.Chunk()));
}

}  // namespace
}  // namespace tallyd
