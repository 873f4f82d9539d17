// Files get elsewhere whole or not at all.
#include "storage/leveldb/tools/transfer.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/storage/leveldb/tools/small_store.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class TransferTest : public ::testing::Test {
 protected:
  std::string At(const std::string& name) const { return dir_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(At(name), std::ios::binary) << bytes;
  }
  std::string Read(const std::string& name) const { return FilesBelow(dir_.path())[name]; }

  TempDir dir_;
  DurableEnv env_{{[](double) {}, [] {}}};
  ToolProgress progress_;
  TransferCounts counts_;
};

TEST_F(TransferTest, OnOneFileSystemItIsALink) {
  Write("from", "bytes");
  ASSERT_TRUE(LinkOrCopy(&env_, At("from"), At("to"), &progress_, &counts_));
  EXPECT_EQ(std::filesystem::hard_link_count(At("to")), 2u);
  EXPECT_EQ(counts_.linked, 1u);
  EXPECT_EQ(progress_.done, 0u);
}

// A directory has no second name; that it cannot be read either is seen at once.
TEST_F(TransferTest, WhatCannotBeReadLeavesNothing) {
  std::filesystem::create_directory(At("from"));
  EXPECT_FALSE(LinkOrCopy(&env_, At("from"), At("to"), &progress_, &counts_));
  EXPECT_FALSE(LinkOrCopy(&env_, At("nowhere"), At("to"), &progress_, &counts_));
  EXPECT_FALSE(std::filesystem::exists(At("to")));
  EXPECT_EQ(counts_.linked + counts_.copied, 0u);
}

TEST_F(TransferTest, WhatIsThereIsNotReplaced) {
  Write("from", "new");
  Write("to", "old");
  EXPECT_FALSE(LinkOrCopy(&env_, At("from"), At("to"), &progress_, &counts_));
  EXPECT_EQ(Read("to"), "old");
}

TEST_F(TransferTest, AcrossFileSystemsItIsACopy) {
  std::string shared = "/dev/shm/tallyd-transfer-XXXXXX";
  if (::mkdtemp(shared.data()) == nullptr) GTEST_SKIP() << "no other file system";
  const std::string bytes(3'000'000, 'x');
  std::ofstream(shared + "/from") << bytes;
  ASSERT_TRUE(LinkOrCopy(&env_, shared + "/from", At("to"), &progress_, &counts_));
  if (counts_.copied == 1) {
    EXPECT_EQ(counts_.copied_bytes, bytes.size());
    EXPECT_EQ(progress_.done, bytes.size());
    progress_.stop = true;
    EXPECT_FALSE(LinkOrCopy(&env_, shared + "/from", At("stopped"), &progress_, &counts_));
    EXPECT_FALSE(std::filesystem::exists(At("stopped")));
  }
  EXPECT_EQ(Read("to"), bytes);
  std::filesystem::remove_all(shared);
}

TEST_F(TransferTest, AFileIsReplacedAsAWhole) {
  ASSERT_TRUE(ReplaceFile(&env_, At("file"), "one"));
  ASSERT_TRUE(ReplaceFile(&env_, At("file"), "two"));
  EXPECT_EQ(FilesBelow(dir_.path()), (std::map<std::string, std::string>{{"file", "two"}}));
  EXPECT_FALSE(ReplaceFile(&env_, At("none/file"), "one"));
}

}  // namespace
}  // namespace tallyd
