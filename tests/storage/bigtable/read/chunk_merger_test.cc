#include "storage/bigtable/read/chunk_merger.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

using CellChunk = google::bigtable::v2::ReadRowsResponse::CellChunk;

CellChunk ChunkOf(const std::string& key, const std::string& value, bool commits) {
  CellChunk chunk;
  chunk.set_row_key(key);
  chunk.mutable_family_name()->set_value("A");
  chunk.mutable_qualifier()->set_value("x");
  chunk.set_timestamp_micros(1000);
  chunk.set_value(value);
  if (commits) chunk.set_commit_row(true);
  return chunk;
}

TEST(ChunkMerger, CarriesFamilyAndColumnOverWithinARow) {
  ChunkMerger merger(false);
  EXPECT_FALSE(*merger.Add(ChunkOf("a", "1", false)));
  EXPECT_TRUE(merger.is_inside());
  CellChunk older;
  older.set_timestamp_micros(500);
  older.set_value("0");
  EXPECT_FALSE(*merger.Add(older));
  CellChunk other;
  other.mutable_qualifier()->set_value("");
  other.set_commit_row(true);
  EXPECT_TRUE(*merger.Add(other));
  const std::vector<WireCell>& cells = merger.row().cells;
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[1].qualifier, "x");
  EXPECT_EQ(cells[1].time, 500);
  EXPECT_EQ(cells[2].family, "A");
  EXPECT_EQ(cells[2].qualifier, "");
}

TEST(ChunkMerger, PutsAValueTogetherThatCameInParts) {
  ChunkMerger merger(false);
  CellChunk first = ChunkOf("a", "one ", false);
  first.set_value_size(7);
  EXPECT_FALSE(*merger.Add(first));
  CellChunk last;
  last.set_value("two");
  last.set_commit_row(true);
  EXPECT_TRUE(*merger.Add(last));
  EXPECT_EQ(merger.row().cells[0].value, "one two");
}

TEST(ChunkMerger, TakesARowBackThatBeginsAnew) {
  ChunkMerger merger(false);
  EXPECT_FALSE(*merger.Add(ChunkOf("a", "1", false)));
  CellChunk reset;
  reset.set_reset_row(true);
  EXPECT_FALSE(*merger.Add(reset));
  EXPECT_TRUE(*merger.Add(ChunkOf("a", "2", true)));
  ASSERT_EQ(merger.row().cells.size(), 1u);
  EXPECT_EQ(merger.row().cells[0].value, "2");
}

TEST(ChunkMerger, RefusesWhatBreaksTheProtocol) {
  CellChunk reset;
  reset.set_reset_row(true);
  EXPECT_FALSE(ChunkMerger(false).Add(reset)) << "of a row that has not begun";
  EXPECT_FALSE(ChunkMerger(false).Add(CellChunk())) << "without a key";
  CellChunk no_column = ChunkOf("a", "1", true);
  no_column.clear_qualifier();
  EXPECT_FALSE(ChunkMerger(false).Add(no_column));
  CellChunk half = ChunkOf("a", "1", true);
  half.set_value_size(2);
  EXPECT_FALSE(ChunkMerger(false).Add(half)) << "complete within a value";
  ChunkMerger again(false);
  EXPECT_TRUE(*again.Add(ChunkOf("a", "1", true)));
  EXPECT_FALSE(again.Add(ChunkOf("a", "1", true))) << "a key twice";
  ChunkMerger longer(false);
  CellChunk first = ChunkOf("a", "123", false);
  first.set_value_size(4);
  EXPECT_FALSE(*longer.Add(first));
  CellChunk rest;
  rest.set_value("45");
  EXPECT_FALSE(longer.Add(rest)) << "longer than it was said to be";
}

TEST(ChunkMerger, ExpectsKeysInTheDirectionOfTheStream) {
  ChunkMerger merger(true);
  EXPECT_TRUE(*merger.Add(ChunkOf("b", "1", true)));
  EXPECT_TRUE(*merger.Add(ChunkOf("a", "1", true)));
  EXPECT_FALSE(merger.Add(ChunkOf("c", "1", true)));
}

}  // namespace
}  // namespace tallyd
