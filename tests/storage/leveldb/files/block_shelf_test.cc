#include <gtest/gtest.h>

#include "storage/leveldb/files/block_file.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/leveldb/block_maker.h"

namespace tallyd {
namespace {

TEST(DamagedFilesTest, WhatIsNotedIsToldApart) {
  DamagedFiles damaged;
  damaged.Report({1, "a", "first"});
  damaged.Report({2, "b", "first"});
  damaged.SetNoted(2);
  damaged.SetNoted(3);
  ASSERT_EQ(damaged.Noted(false).size(), 1u);
  EXPECT_EQ(damaged.Noted(false)[0].number, 1u);
  ASSERT_EQ(damaged.Noted(true).size(), 1u);
  EXPECT_EQ(damaged.Noted(true)[0].number, 2u);
  damaged.Forget(2);
  damaged.Report({2, "b", "anew"});
  EXPECT_EQ(damaged.Noted(false).size(), 2u);
}

class BlockFileShelfTest : public ::testing::Test, public BlockMaker {};

// One of LevelDB's caches has sixteen parts: an index larger than one goes with the next that comes
// to its part.
TEST_F(BlockFileShelfTest, AnIndexThatIsMuchOfTheBoundIsReadOnce) {
  std::vector<BlockFilePtr> made = {MakeFile(1, "r", 80'000)};
  for (uint64_t number = 2; number < 30; ++number) made.push_back(MakeFile(number, "s", 1));
  size_t bound = 0;
  for (const BlockFilePtr& file : made) bound += (*file->Index())->bytes();
  ASSERT_GT((*made[0]->Index())->bytes(), bound / 16);
  FaultEnv env;
  BlockFileShelf shelf(&env, this->shelf().directory(), {.indexes = bound});
  const auto read_all = [&] {
    for (const BlockFilePtr& file : made) {
      EXPECT_TRUE(BlockFile(&shelf, file->info()).Index());
    }
    return env.bytes_read();
  };
  const uint64_t first = read_all();
  EXPECT_GT(first, 0u);
  for (int query = 0; query < 10; ++query) EXPECT_EQ(read_all(), first);
}

// A shelf beside the one that made the files, which counts what is read.
class BlockPartsTest : public BlockFileShelfTest {
 protected:
  // How many bytes it takes to read the block's first `size`, or more.
  uint64_t ReadPart(const BlockFile& file, uint32_t size, BlockReads reads, uint32_t ahead = 0) {
    const uint64_t before = env_.bytes_read();
    const auto part = file.ReadPart(place_, 0, size, ahead, reads);
    EXPECT_TRUE(part);
    EXPECT_GE((*part)->size(), size);
    EXPECT_EQ((*part)->substr(0, size), bytes_.substr(0, size));
    return env_.bytes_read() - before;
  }

  BlockFilePtr made_ = MakeFile(1, "r", 100);
  BlockPlace place_ = (*made_->Index())->blocks()[0];
  std::string bytes_ = **made_->ReadPart(place_, 0, place_.size, 0, BlockReads::kOnce);
  FaultEnv env_;
  BlockFileShelf shelf_{&env_, shelf().directory(), {.indexes = 1u << 20, .parts = 1u << 20}};
  BlockFile file_{&shelf_, made_->info()};
};

TEST_F(BlockPartsTest, APartThatQueriesAskForIsReadOnce) {
  EXPECT_EQ(ReadPart(file_, 20, BlockReads::kCached), 20u);
  EXPECT_EQ(ReadPart(file_, 20, BlockReads::kCached), 0u);
  EXPECT_EQ(ReadPart(file_, 10, BlockReads::kCached), 0u) << "the cache has more of it";
  EXPECT_EQ(ReadPart(BlockFile(&shelf_, made_->info()), 20, BlockReads::kCached), 0u)
      << "as a view that was opened later has it";
  EXPECT_EQ(ReadPart(file_, 30, BlockReads::kCached, 15), 45u) << "the cache has less of it";
  EXPECT_EQ(ReadPart(file_, 45, BlockReads::kCached), 0u);
  EXPECT_EQ(ReadPart(file_, 50, BlockReads::kCached, place_.size), place_.size)
      << "a block ends where it ends";
}

TEST_F(BlockPartsTest, WhatMergesReadIsNeitherKeptNorTakenFromTheCache) {
  EXPECT_EQ(ReadPart(file_, 20, BlockReads::kOnce), 20u);
  EXPECT_EQ(ReadPart(file_, 20, BlockReads::kCached), 20u);
  EXPECT_EQ(ReadPart(file_, 20, BlockReads::kOnce), 20u);
}

TEST_F(BlockPartsTest, APartThatWasFoundDamagedIsReadAgain) {
  EXPECT_EQ(ReadPart(file_, 20, BlockReads::kCached), 20u);
  file_.ForgetPart(place_, 1);
  EXPECT_EQ(ReadPart(file_, 20, BlockReads::kCached), 0u) << "another part";
  file_.ForgetPart(place_, 0);
  EXPECT_EQ(ReadPart(file_, 20, BlockReads::kCached), 20u);
}

TEST_F(BlockPartsTest, APartBeyondTheEndOfItsBlockIsDamage) {
  const auto beyond = file_.ReadPart(place_, 1, place_.size, 0, BlockReads::kCached);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code(), ErrorCode::kCorruption);
  EXPECT_TRUE(file_.is_damaged());
}

TEST_F(BlockFileShelfTest, DescriptorsAreBoundedByTheirNumberAlone) {
  std::vector<BlockFilePtr> made;
  for (uint64_t number = 1; number <= 96; ++number) made.push_back(MakeFile(number, "r", 1));
  FaultEnv env;
  BlockFileShelf shelf(&env, this->shelf().directory(), {});
  for (int query = 0; query < 3; ++query) {
    for (const BlockFilePtr& file : made) {
      EXPECT_TRUE(BlockFile(&shelf, file->info()).Index());
    }
    EXPECT_EQ(env.block_files_opened(), 96u);
  }
}

TEST_F(BlockFileShelfTest, WhatWasRemovedIsToldGoneOnce) {
  MakeFile(1, "r", 1);
  shelf().damaged().Report({1, "a", "why"});
  shelf().Remove(1);
  EXPECT_FALSE(shelf().damaged().Contains(1));
  EXPECT_TRUE(shelf().TakeGone().empty()) << "not durably yet";
  shelf().SyncRemovals();
  EXPECT_EQ(shelf().TakeGone(), std::vector<uint64_t>{1});
  EXPECT_TRUE(shelf().TakeGone().empty());
}

}  // namespace
}  // namespace tallyd
