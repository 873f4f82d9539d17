#include <gtest/gtest.h>

#include "storage/leveldb/files/block_file.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/leveldb/block_maker.h"

namespace tallyd {
namespace {

using Cache = BoundedCache<std::string>;

Cache::Ptr Text(const std::string& text) { return std::make_shared<const std::string>(text); }

TEST(BoundedCacheTest, WhatWasUsedLastStaysWithinTheBound) {
  Cache cache(10);
  for (const uint64_t number : {1, 2, 3}) cache.Put(number, Text("x"), 3);
  EXPECT_NE(cache.Find(1), nullptr);
  cache.Put(4, Text("x"), 3);
  EXPECT_EQ(cache.Find(2), nullptr) << "of all it was used the longest time ago";
  for (const uint64_t number : {1, 3, 4}) EXPECT_NE(cache.Find(number), nullptr) << number;
  cache.Put(5, Text("x"), 10);
  for (const uint64_t number : {1, 3, 4}) EXPECT_EQ(cache.Find(number), nullptr) << number;
  EXPECT_NE(cache.Find(5), nullptr) << "one may fill it";
}

TEST(BoundedCacheTest, WhatIsLargerThanTheBoundIsNotKeptAndDisplacesNothing) {
  Cache cache(10);
  cache.Put(1, Text("x"), 3);
  cache.Put(2, Text("x"), 11);
  EXPECT_EQ(cache.Find(2), nullptr);
  EXPECT_NE(cache.Find(1), nullptr);
}

TEST(BoundedCacheTest, AThingThatIsPutTwiceCountsOnce) {
  Cache cache(10);
  for (int i = 0; i < 5; ++i) cache.Put(1, Text(std::to_string(i)), 6);
  EXPECT_EQ(*cache.Find(1), "4");
  cache.Put(2, Text("x"), 4);
  EXPECT_NE(cache.Find(1), nullptr);
  cache.Erase(1);
  EXPECT_EQ(cache.Find(1), nullptr);
  EXPECT_NE(cache.Find(2), nullptr);
}

TEST(BoundedCacheTest, WhoHoldsAThingKeepsIt) {
  Cache cache(10);
  cache.Put(1, Text("held"), 10);
  const Cache::Ptr held = cache.Find(1);
  cache.Put(2, Text("x"), 10);
  EXPECT_EQ(cache.Find(1), nullptr);
  EXPECT_EQ(*held, "held");
}

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
  BlockFileShelf shelf(&env, this->shelf().directory(), bound);
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

TEST_F(BlockFileShelfTest, DescriptorsAreBoundedByTheirNumberAlone) {
  std::vector<BlockFilePtr> made;
  for (uint64_t number = 1; number <= 96; ++number) made.push_back(MakeFile(number, "r", 1));
  FaultEnv env;
  BlockFileShelf shelf(&env, this->shelf().directory(), 0);
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
