#include "service/heat/heat_chunk.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

HeatChunk ChunkOf(size_t ranges) {
  HeatChunk chunk;
  HeatMinute& minute = chunk.minutes.emplace_back(HeatMinute{28'000'000, {}});
  for (uint32_t i = 0; i < ranges; ++i) {
    const std::string start = "k" + std::to_string(1000 + i) + "#";
    chunk.ranges.push_back(PrefixRange(start));
    minute.cells.push_back({i, i + 1, i});
  }
  return chunk;
}

uint64_t RowsOf(const HeatChunk& chunk) {
  uint64_t rows = 0;
  for (const HeatMinute& minute : chunk.minutes) {
    for (const HeatCell& cell : minute.cells) rows += cell.rows;
  }
  return rows;
}

TEST(HeatChunkTest, IsReadBackAsItWasWritten) {
  HeatChunk chunk = ChunkOf(3);
  chunk.is_partition = true;
  chunk.ranges.back().end.clear();
  chunk.minutes.push_back({27'999'999, {{2, 4'000'000'000, 0}, {0, 7, 7}}});
  chunk.minutes.push_back({28'000'001, {}});
  const Result<HeatChunk> read = DecodeChunk(EncodeChunk(chunk, 1u << 20));
  ASSERT_TRUE(read);
  EXPECT_EQ(chunk, *read);
}

TEST(HeatChunkTest, DamagedBytesAreRefused) {
  const std::string bytes = EncodeChunk(ChunkOf(3), 1u << 20);
  EXPECT_FALSE(DecodeChunk(""));
  EXPECT_FALSE(DecodeChunk("no chunk"));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(DecodeChunk(bytes.substr(0, size)));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(~damaged[i]);
    // What decompresses by chance is a chunk whose cells are within its ranges.
    const Result<HeatChunk> read = DecodeChunk(damaged);
    if (!read) continue;
    for (const HeatMinute& minute : read->minutes) {
      for (const HeatCell& cell : minute.cells) EXPECT_LT(cell.range, read->ranges.size());
    }
  }
}

TEST(HeatChunkTest, CoarseningMergesTheLightestNeighboursAndLosesNoRow) {
  HeatChunk chunk = ChunkOf(5);
  const uint64_t rows = RowsOf(chunk);
  Coarsen(&chunk, 4);
  ASSERT_EQ(4u, chunk.ranges.size());
  EXPECT_EQ((KeyRange{"k1000#", "k1001$"}), chunk.ranges[0]);
  EXPECT_EQ((HeatCell{0, 3, 1}), chunk.minutes[0].cells[0]);
  EXPECT_EQ(rows, RowsOf(chunk));
  Coarsen(&chunk, 1);
  EXPECT_EQ((std::vector<KeyRange>{{"k1000#", "k1004$"}}), chunk.ranges);
  EXPECT_EQ(rows, RowsOf(chunk));
}

TEST(HeatChunkTest, CoarseningPutsRangesInOrder) {
  HeatChunk chunk;
  chunk.ranges = {{"b", "c"}, {"a", "b"}};
  chunk.minutes = {{1, {{0, 2, 0}, {1, 5, 0}}}};
  Coarsen(&chunk, 2);
  EXPECT_EQ((std::vector<KeyRange>{{"a", "b"}, {"b", "c"}}), chunk.ranges);
  EXPECT_EQ((std::vector<HeatCell>{{0, 5, 0}, {1, 2, 0}}), chunk.minutes[0].cells);
}

TEST(HeatChunkTest, WhatDoesNotFitIsMadeCoarser) {
  const HeatChunk chunk = ChunkOf(1000);
  const std::string bytes = EncodeChunk(chunk, 1000);
  EXPECT_LE(bytes.size(), 1000u);
  const Result<HeatChunk> read = DecodeChunk(bytes);
  ASSERT_TRUE(read);
  EXPECT_LT(read->ranges.size(), 1000u);
  EXPECT_EQ(RowsOf(chunk), RowsOf(*read));
}

}  // namespace
}  // namespace tallyd
