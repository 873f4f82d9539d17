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

TEST(BlockTimesTest, TheyComeBackAndAscendWhereEachRunDoes) {
  std::mt19937_64 random(1);
  BlockTimeReader reader;
  size_t ascending = 0;
  for (int round = 0; round < 2000; ++round) {
    const AnyBlock block = MakeBlock(&random);
    const int64_t unit = std::array<int64_t, 3>{1, 1000, 1'000'000}[random() % 3];
    std::vector<TimeUs> times(block.units.size());
    bool ascend = false;
    ASSERT_TRUE(reader.Read(Section(unit, block.units), block.runs, times, &ascend));
    for (size_t i = 0; i < times.size(); ++i) ASSERT_EQ(times[i], block.units[i] * unit);
    ASSERT_EQ(ascend, Ascends(block)) << "round " << round;
    ascending += ascend ? 1 : 0;
  }
  EXPECT_GT(ascending, 200);
  EXPECT_LT(ascending, 1800);
}

TEST(BlockTimesTest, WhatIsNoTimeIsMalformed) {
  BlockTimeReader reader;
  const std::vector<KeyRun> runs(1);
  const auto reads = [&](const std::string& section, size_t count) {
    std::vector<TimeUs> times(count);
    bool ascend = false;
    return reader.Read(section, runs, times, &ascend);
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
