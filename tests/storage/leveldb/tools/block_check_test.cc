// A block file is read by what it says of itself, as far as it can be read.
#include "storage/leveldb/tools/block_check.h"

#include <gtest/gtest.h>

#include "storage/leveldb/env/durable_env.h"
#include "tests/storage/leveldb/tools/small_store.h"

namespace tallyd {
namespace {

// One file of many blocks.
class BlockCheckTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(SmallStore::SchemaOf()));
    for (int row = 0; row < 40; ++row) {
      auto batch = NewBatch();
      for (TimeUs time = 0; time < 200; ++time) {
        const std::string key = "row" + std::to_string(100 + row);
        Put(batch.get(), "H", key, time, {{"A", "value", Value::Int(row * time)}});
      }
      ASSERT_TRUE(Commit(std::move(batch)));
    }
    ASSERT_TRUE(store().Settle());
    Close();
    for (const auto& [name, bytes] : FilesBelow(config().path)) {
      if (!name.ends_with(".blocks")) continue;
      name_ = name;
      bytes_ = bytes;
    }
  }

  void Flip(uint64_t at) {
    std::string damaged = bytes_;
    damaged.at(at) ^= 1;
    WriteFiles({{"file", damaged}}, path() + "/damaged");
  }
  std::string Path() const { return path() + "/damaged/file"; }

  DurableEnv env_{{[](double) {}, [] {}}};
  std::string name_;
  std::string bytes_;
};

TEST_F(BlockCheckTest, AGoodFileIsGoodInEveryBlock) {
  const Result<BlockFileCheck> file = BlockFileCheck::Open(&env_, config().path + "/" + name_);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->description().table.name, "H");
  EXPECT_EQ(file->description().info.entries, 8000u);
  BlockChecker checker(file->description());
  ASSERT_GT(file->index().blocks().size(), 1u);
  for (const BlockPlace& place : file->index().blocks()) {
    std::string bytes;
    ASSERT_TRUE(file->Read(place, &bytes));
    EXPECT_TRUE(checker.Check(place, bytes));
  }
  EXPECT_TRUE(checker.CheckSums());
}

TEST_F(BlockCheckTest, ABlockThatIsLeftOutIsMissed) {
  const Result<BlockFileCheck> file = BlockFileCheck::Open(&env_, config().path + "/" + name_);
  ASSERT_TRUE(file);
  BlockChecker checker(file->description());
  const auto& blocks = file->index().blocks();
  std::string bytes;
  ASSERT_TRUE(file->Read(blocks.back(), &bytes));
  ASSERT_TRUE(checker.Check(blocks.back(), bytes));
  EXPECT_FALSE(checker.CheckSums());
  ASSERT_TRUE(file->Read(blocks.front(), &bytes));
  EXPECT_FALSE(checker.Check(blocks.front(), bytes)) << "it is out of order";
}

// The blocks say themselves where the next one begins.
TEST_F(BlockCheckTest, WithoutAnIndexTheBlocksAreFound) {
  const BlockFileCheck whole = *BlockFileCheck::Open(&env_, config().path + "/" + name_);
  Flip(whole.index().end() + 3);
  EXPECT_FALSE(BlockFileCheck::Open(&env_, Path()));
  const Result<BlockFileCheck> found = BlockFileCheck::Scan(&env_, Path(), nullptr);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->index().blocks().size(), whole.index().blocks().size());
  for (size_t i = 0; i < whole.index().blocks().size(); ++i) {
    const BlockPlace& block = found->index().blocks()[i];
    EXPECT_EQ(block.first_key, whole.index().blocks()[i].first_key);
    EXPECT_EQ(block.offset, whole.index().blocks()[i].offset);
    EXPECT_EQ(block.rows, whole.index().blocks()[i].rows);
  }
}

TEST_F(BlockCheckTest, WithoutAnEndItTakesSomebodyWhoKnowsTheFile) {
  const BlockFileCheck whole = *BlockFileCheck::Open(&env_, config().path + "/" + name_);
  Flip(bytes_.size() - 1);
  EXPECT_FALSE(BlockFileCheck::Scan(&env_, Path(), nullptr));
  const Result<BlockFileCheck> found = BlockFileCheck::Scan(&env_, Path(), &whole.description());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->index().blocks().size(), whole.index().blocks().size());
}

}  // namespace
}  // namespace tallyd
