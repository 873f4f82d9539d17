#include "storage/leveldb/files/block_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "storage/blocks/column_block.h"
#include "tests/storage/leveldb/block_maker.h"

namespace tallyd {
namespace {

class BlockFileTest : public ::testing::Test, public BlockMaker {
 protected:
  static std::string BytesOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  // As after a start: what base recorded is known, nothing is open.
  BlockFile Anew(const BlockFileInfo& info) {
    fresh_.emplace(env(), shelf().directory(), ShelfCacheBytes{1u << 20, 1u << 20});
    return BlockFile(&*fresh_, info);
  }

 private:
  std::optional<BlockFileShelf> fresh_;
};

TEST_F(BlockFileTest, TheIndexFindsTheBlockOfAKey) {
  const BlockFilePtr file = MakeFile(1, "r", 5000);
  const Result<BlockIndexPtr> index = file->Index();
  ASSERT_TRUE(index);
  ASSERT_EQ((*index)->blocks().size(), 3u);
  EXPECT_EQ(file->info().entries, 5000u);
  EXPECT_EQ(file->info().rows, 5000u);
  EXPECT_EQ(file->first_key(), "r10000");
  EXPECT_EQ(file->last_key(), "r14999");
  EXPECT_EQ((*index)->FindBlock("r10000"), 0u);
  EXPECT_EQ((*index)->FindBlock("r14999"), 2u);
  EXPECT_EQ((*index)->FindBlock("s"), 3u);
}

TEST_F(BlockFileTest, AMissingFileIsDamageThatNamesIt) {
  const BlockFilePtr file = MakeFile(1, "r", 10);
  std::filesystem::remove(file->path());
  const BlockFile anew = Anew(file->info());
  EXPECT_FALSE(anew.is_damaged()) << "nothing is opened before it is asked for";
  const Result<BlockIndexPtr> index = anew.Index();
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(index.error().message().find(file->path()), std::string::npos);
  EXPECT_TRUE(anew.is_damaged());
}

TEST_F(BlockFileTest, FilesThatChangedPlacesAreNoticed) {
  const BlockFilePtr one = MakeFile(1, "r", 10);
  const BlockFilePtr two = MakeFile(2, "s", 10);
  ASSERT_EQ(one->info().bytes, two->info().bytes);
  const std::string bytes = BytesOf(one->path());
  Overwrite(one->path(), BytesOf(two->path()));
  Overwrite(two->path(), bytes);
  EXPECT_FALSE(Anew(one->info()).Index());
  EXPECT_FALSE(Anew(two->info()).Index());
}

TEST_F(BlockFileTest, EveryFlippedBitBehindTheBlocksIsNoticed) {
  const BlockFilePtr file = MakeFile(1, "r", 10);
  const Result<BlockIndexPtr> index = file->Index();
  ASSERT_TRUE(index);
  const std::string bytes = BytesOf(file->path());
  for (size_t at = (*index)->end(); at < bytes.size(); ++at) {
    for (const int bit : {0, 7}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      Overwrite(file->path(), damaged);
      EXPECT_FALSE(Anew(file->info()).Index()) << "byte " << at << " bit " << bit;
    }
  }
}

TEST_F(BlockFileTest, EveryTruncationIsNoticed) {
  const BlockFilePtr file = MakeFile(1, "r", 10);
  const std::string bytes = BytesOf(file->path());
  for (size_t size = 0; size < bytes.size(); ++size) {
    Overwrite(file->path(), bytes.substr(0, size));
    EXPECT_FALSE(Anew(file->info()).Index()) << size;
  }
}

TEST_F(BlockFileTest, DamageIsReportedOnceWithItsFirstReason) {
  const BlockFilePtr file = MakeFile(1, "r", 10);
  file->Damaged(Error(ErrorCode::kCorruption, "first")).message();
  file->Damaged(Error(ErrorCode::kCorruption, "second")).message();
  const std::vector<DamagedFile> damaged = shelf().damaged().All();
  ASSERT_EQ(damaged.size(), 1u);
  EXPECT_EQ(damaged[0].number, 1u);
  EXPECT_EQ(damaged[0].reason, "first");
}

TEST_F(BlockFileTest, TooManyOpenFilesAreNoDamage) {
  const BlockFilePtr file = MakeFile(1, "r", 10);
  file->Damaged(Error(ErrorCode::kIo, "IO error: x: Too many open files")).message();
  EXPECT_FALSE(file->is_damaged());
}

TEST_F(BlockFileTest, ADroppedFileGoesWithItsLastHolder) {
  BlockFilePtr file = MakeFile(1, "r", 10);
  const std::string path = file->path();
  file->Drop();
  EXPECT_TRUE(std::filesystem::exists(path));
  file.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(BlockFileTest, WhatAWriterDidNotHandOutGoesWithIt) {
  auto writer = NewWriter(9);
  Add(writer.get(), {"r", 1, 1}, 1);
  ASSERT_TRUE(writer->Complete());
  const std::string path = shelf().PathOf(9);
  EXPECT_TRUE(std::filesystem::exists(path));
  writer.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace tallyd
