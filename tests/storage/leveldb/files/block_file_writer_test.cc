// Entries into a block file: what it says of itself, and that nothing is left of one given up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "storage/leveldb/files/block_file.h"
#include "tests/storage/leveldb/block_maker.h"
#include "tests/storage/leveldb/history_maker.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

class BlockFileWriterTest : public ::testing::Test {
 protected:
  bool Exists(uint64_t number) { return fs::exists(blocks_.shelf().PathOf(number)); }

  BlockMaker blocks_;
};

TEST_F(BlockFileWriterTest, AFileTellsWhatItHolds) {
  const auto writer = blocks_.NewWriter(5);
  blocks_.Add(writer.get(), {"a", 300, 9}, 1);
  blocks_.Add(writer.get(), {"a", 100, 4}, 2);
  blocks_.Add(writer.get(), {"b", 200, 6}, 3);
  const BlockFilePtr file = BlockMaker::Finish(writer.get());
  const BlockFileInfo& info = file->info();
  EXPECT_EQ(info.table, blocks_.table()->id);
  EXPECT_EQ(info.number, 5u);
  EXPECT_EQ(info.entries, 3u);
  EXPECT_EQ(info.rows, 2u);
  EXPECT_EQ(info.min_time, 100);
  EXPECT_EQ(info.max_time, 300);
  EXPECT_EQ(info.min_sequence, 4u);
  EXPECT_EQ(info.max_sequence, 9u);
  EXPECT_EQ(info.first_key, "a");
  EXPECT_EQ(info.last_key, "b");
  EXPECT_EQ(info.bytes, fs::file_size(file->path()));
  EXPECT_EQ(writer->bytes(), info.bytes);
  EXPECT_TRUE(file->Index()) << "base records the checksum that the file has";
}

TEST_F(BlockFileWriterTest, NothingIsOnDiskBeforeThereIsABlock) {
  const auto writer = blocks_.NewWriter(1);
  EXPECT_TRUE(writer->empty());
  blocks_.Add(writer.get(), {"a", 1, 7}, 1);
  EXPECT_FALSE(writer->empty());
  EXPECT_FALSE(Exists(1));
}

TEST_F(BlockFileWriterTest, AFileThatWasNotHandedOutIsRemoved) {
  auto writer = blocks_.NewWriter(1);
  blocks_.Add(writer.get(), {"a", 1, 7}, 1);
  ASSERT_TRUE(writer->Complete());
  ASSERT_TRUE(writer->Sync());
  ASSERT_TRUE(Exists(1));
  writer.reset();
  EXPECT_FALSE(Exists(1));
}

TEST_F(BlockFileWriterTest, AFileThatWasHandedOutStays) {
  auto writer = blocks_.NewWriter(1);
  blocks_.Add(writer.get(), {"a", 1, 7}, 1);
  BlockMaker::Finish(writer.get()).reset();
  writer.reset();
  EXPECT_TRUE(Exists(1));
}

TEST_F(BlockFileWriterTest, ManyEntriesAreManyBlocksInOrder) {
  const BlockFilePtr file = blocks_.MakeFile(1, "row", 10'000);
  const BlockIndexPtr index = file->Index().value();
  ASSERT_GT(index->blocks().size(), 1u);
  uint64_t entries = 0;
  std::string last;
  for (const BlockPlace& place : index->blocks()) {
    EXPECT_GT(place.first_key, last);
    EXPECT_LE(place.first_key, place.last_key);
    last = place.last_key;
    entries += place.entries;
  }
  EXPECT_EQ(entries, 10'000u);
  EXPECT_EQ(file->info().entries, 10'000u);
}

// Whoever reads columns sees within one block that a cell was written twice.
TEST_F(BlockFileWriterTest, EntriesOfOneRowAndTimeAreInOneBlock) {
  const auto writer = blocks_.NewWriter(1);
  const size_t room = writer->builder().room();
  for (size_t i = 0; i + 3 < room; ++i) {
    blocks_.Add(writer.get(), {fmt::format("a{:05}", i), 1000, 7}, 1);
  }
  for (uint64_t sequence = 20; sequence > 10; --sequence) {
    blocks_.Add(writer.get(), {"b", 1000, sequence}, 2);
  }
  blocks_.Add(writer.get(), {"b", 999, 7}, 3);
  const BlockFilePtr file = BlockMaker::Finish(writer.get());
  const BlockIndexPtr index = file->Index().value();
  ASSERT_EQ(index->blocks().size(), 2u);
  EXPECT_EQ(index->blocks()[0].entries, room + 7);
  EXPECT_EQ(index->blocks()[1].entries, 1u);
}

TEST_F(BlockFileWriterTest, ABlockOfAnotherFileIsTakenAsItIs) {
  const BlockFilePtr first = blocks_.MakeFile(1, "b", 100, 3);
  const BlockPlace place = first->Index().value()->blocks()[0];
  std::string bytes;
  ASSERT_TRUE(first->Read(place, 0, place.size, &bytes));
  const auto writer = blocks_.NewWriter(2);
  blocks_.Add(writer.get(), {"a", 5000, 9}, 1);
  ASSERT_TRUE(writer->AddBlock(place, bytes, 3, 3));
  blocks_.Add(writer.get(), {"c", 10, 8}, 1);
  const BlockFilePtr file = BlockMaker::Finish(writer.get());
  const BlockIndexPtr index = file->Index().value();
  ASSERT_EQ(index->blocks().size(), 3u);
  std::string copy;
  const BlockPlace& middle = index->blocks()[1];
  ASSERT_TRUE(file->Read(middle, 0, middle.size, &copy));
  EXPECT_EQ(copy, bytes);
  EXPECT_EQ(file->info().entries, 102u);
  EXPECT_EQ(file->info().min_time, 10);
  EXPECT_EQ(file->info().max_time, 5000);
  EXPECT_EQ(file->info().min_sequence, 3u);
  EXPECT_EQ(file->info().max_sequence, 9u);
  EXPECT_EQ(file->info().first_key, "a");
  EXPECT_EQ(file->info().last_key, "c");
}

// Every call to the disk fails once: the error comes out, and no file stays.
TEST(BlockFileWriterFaultTest, AFailedDiskLeavesNoFile) {
  HistoryMaker history;
  history.Open();
  BlockFileShelf& shelf = history.database().shelf();
  for (uint64_t call = 1;; ++call) {
    BlockFileInfo info;
    info.number = call;
    auto writer = std::make_unique<BlockFileWriter>(&shelf, history.table(), info);
    const ColumnSet set{3, 1, {{0, "x"}}};
    writer->builder().Add({"a", 1, 7}, set, std::vector{Value::Int(1)});
    history.env().FailAt(history.env().calls() + call, Fault::kNoSpace, false);
    Status done = writer->Complete();
    if (done) done = writer->Sync();
    const bool failed = history.env().failed();
    history.env().Heal();
    EXPECT_EQ(!done, failed);
    if (done) {
      ASSERT_GT(call, 2u) << "some call failed";
      return;
    }
    EXPECT_EQ(done.error().code(), ErrorCode::kNoSpace);
    writer.reset();
    EXPECT_FALSE(fs::exists(shelf.PathOf(call)));
  }
}

}  // namespace
}  // namespace tallyd
