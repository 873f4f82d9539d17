// The times of a block: those that were written come back, and are told to ascend where they do.
#include "storage/blocks/block_times.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "storage/blocks/column_block.h"
#include "storage/blocks/int_codec.h"

namespace tallyd {
namespace {

std::string Section(int64_t unit, std::vector<int64_t> units) {
  std::string section;
  PutVarint(&section, static_cast<uint64_t>(unit));
  AppendInts(units, &section);
  return section;
}

struct AnyBlock {
  std::vector<KeyRun> runs;
  std::vector<int64_t> units;
};

// Runs of entities whose clocks tick, some unevenly, some newest first.
AnyBlock MakeBlock(std::mt19937_64* random) {
  AnyBlock block;
  const uint64_t sort = (*random)() % 4;
  for (uint64_t runs = 1 + (*random)() % 5; runs > 0; --runs) {
    KeyRun run;
    run.begin = static_cast<uint32_t>(block.units.size());
    auto at = static_cast<int64_t>(100'000 + (*random)() % 1000);
    const int64_t step = sort == 1 ? -5 : 5;
    for (uint64_t count = 1 + (*random)() % 400; count > 0; --count) {
      const uint64_t noise = sort == 2 ? (*random)() % 50 : (*random)() % 100 == 0 ? 7 : 0;
      block.units.push_back(at += step + static_cast<int64_t>(noise) - (sort == 2 ? 10 : 0));
    }
    run.end = static_cast<uint32_t>(block.units.size());
    block.runs.push_back(run);
  }
  return block;
}

bool Ascends(const AnyBlock& block) {
  for (const KeyRun& run : block.runs) {
    for (uint32_t i = run.begin + 1; i < run.end; ++i) {
      if (block.units[i] <= block.units[i - 1]) return false;
    }
  }
  return true;
}

// Some entries that follow each other, each run among them.
void ExpectStretches(const AnyBlock& block, int64_t unit, std::mt19937_64& random,
                     const BlockTimes& times) {
  const auto expect = [&](uint32_t begin, uint32_t end) {
    const EntryTimes some = times.Of(begin, end);
    ASSERT_EQ(some.size(), end - begin);
    bool ascends = true;
    for (uint32_t i = begin; i < end; ++i) {
      ASSERT_EQ(some[i - begin], block.units[i] * unit);
      ascends = ascends && (i == begin || block.units[i] > block.units[i - 1]);
      if (some.are_even() && i > begin) {
        ASSERT_EQ(some[i - begin] - some[i - begin - 1], some.step());
      }
    }
    ASSERT_EQ(some.Ascend(), ascends);
  };
  for (const KeyRun& run : block.runs) expect(run.begin, run.end);
  const auto entries = static_cast<uint32_t>(block.units.size());
  for (int i = 0; i < 3; ++i) {
    const auto begin = static_cast<uint32_t>(random() % entries);
    expect(begin, begin + 1 + static_cast<uint32_t>(random() % (entries - begin)));
  }
}

TEST(BlockTimesTest, RegularTimesAreNotLookedAtOneByOne) {
  std::vector<int64_t> units;
  for (int64_t i = 0; i < 600; ++i) units.push_back(100'000 + 10 * (i % 300));
  const std::vector<KeyRun> runs = {{0, 300, "a"}, {300, 600, "b"}};
  BlockTimes times;
  ASSERT_TRUE(times.Read(Section(1000, units), runs, 600));
  EXPECT_TRUE(times.Of(0, 300).are_even());
  EXPECT_EQ(times.Of(400, 600).step(), 10'000);
  EXPECT_FALSE(times.Of(0, 301).are_even());
  EXPECT_TRUE(times.Of(300, 600).are_even()) << "also when all were asked for";
}

TEST(BlockTimesTest, TheyComeBackAndAscendWhereEachRunDoes) {
  std::mt19937_64 random(1);
  BlockTimes times;
  size_t ascending = 0;
  for (int round = 0; round < 2000; ++round) {
    const AnyBlock block = MakeBlock(&random);
    const int64_t unit = std::array<int64_t, 3>{1, 1000, 1'000'000}[random() % 3];
    const auto entries = static_cast<uint32_t>(block.units.size());
    ASSERT_TRUE(times.Read(Section(unit, block.units), block.runs, entries));
    ASSERT_EQ(times.runs_ascend(), Ascends(block)) << "round " << round;
    ascending += times.runs_ascend() ? 1 : 0;
    for (int look = 0; look < 2; ++look) {  // Before somebody asked for all of them, and after it.
      for (uint32_t i = 0; i < entries; ++i) ASSERT_EQ(times.At(i), block.units[i] * unit);
      ExpectStretches(block, unit, random, times);
      ASSERT_EQ(times.All().size(), entries);
      for (uint32_t i = 0; i < entries; ++i) ASSERT_EQ(times.All()[i], block.units[i] * unit);
    }
  }
  EXPECT_GT(ascending, 200);
  EXPECT_LT(ascending, 1800);
}

TEST(BlockTimesTest, WhatIsNoTimeIsMalformed) {
  BlockTimes times;
  const std::vector<KeyRun> runs(1);
  const auto reads = [&](const std::string& section, uint32_t count) {
    return times.Read(section, runs, count);
  };
  const int64_t most = kMaxTimeUs / 1000;
  EXPECT_TRUE(reads(Section(1000, {most - 2, most - 1, most}), 3));
  EXPECT_FALSE(reads(Section(1000, {most - 1, most, most + 1}), 3)) << "even";
  EXPECT_FALSE(reads(Section(1000, {0, 5, most + 1}), 3));
  EXPECT_FALSE(reads(Section(1000, {3, 1, -1}), 3)) << "even";
  EXPECT_FALSE(reads(Section(1000, {0, -1, 7}), 3));
  EXPECT_FALSE(reads(Section(60, {1, 2, 3}), 3)) << "no unit";
  EXPECT_FALSE(reads(Section(1, {1, 2, 3}) + "x", 3)) << "bytes left over";
  EXPECT_FALSE(reads(Section(1, {1, 2, 3}).substr(0, 2), 3));
  EXPECT_FALSE(reads("", 3));
}

}  // namespace
}  // namespace tallyd
