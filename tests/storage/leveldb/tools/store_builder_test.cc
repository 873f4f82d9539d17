// A store is made in an empty directory only, has it alone, and is none before it is complete.
#include "storage/leveldb/tools/store_builder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "tests/storage/leveldb/tools/small_store.h"

namespace tallyd {
namespace {

class StoreBuilderTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override { config().path = path() + "/made/here"; }

  Status Build(StoreBuilder* builder) {
    std::string next;
    PutU32(&next, 1);
    Status done = builder->Take();
    if (done) done = builder->Write(1, [](const StoreBuilder::Put&) { return Status(); });
    if (!done) return done;
    return builder->Write(StoreBuilder::kBase, [&](const StoreBuilder::Put& put) {
      const Status format = put(MetaKey(MetaKind::kFormat), EncodeFormat(kFormatVersion));
      return format ? put(MetaKey(MetaKind::kNextTable), next) : format;
    });
  }
};

TEST_F(StoreBuilderTest, WhatIsCompleteOpens) {
  {
    StoreBuilder builder(config());
    ASSERT_TRUE(Build(&builder));
    ASSERT_TRUE(builder.Complete());
    EXPECT_FALSE(TryOpen()) << "it is locked";
  }
  EXPECT_FALSE(std::filesystem::exists(config().path + "/restoring"));
  Open();
  ASSERT_TRUE(Adopt(SmallStore::SchemaOf()));
  EXPECT_TRUE(Write("H", "row", 1, {{"A", "value", Value::Int(1)}}));
}

TEST_F(StoreBuilderTest, LeavingRemovesWhatWasMade) {
  StoreBuilder builder(config());
  ASSERT_TRUE(Build(&builder));
  builder.Leave();
  EXPECT_FALSE(std::filesystem::exists(path() + "/made"));
}

// As after a crash, at any of its steps.
TEST_F(StoreBuilderTest, WhatIsNotCompleteDoesNotOpen) {
  for (const bool built : {false, true}) {
    std::filesystem::remove_all(config().path);
    {
      StoreBuilder killed(config());
      ASSERT_TRUE(built ? Build(&killed) : killed.Take());
    }
    const Status opened = TryOpen();
    ASSERT_FALSE(opened) << built;
    EXPECT_EQ(opened.error().code(), ErrorCode::kConflict) << opened.error().message();
    const Status taken = StoreBuilder(config()).Take();
    ASSERT_FALSE(taken) << built;
    for (const std::string& said : {opened.error().message(), taken.error().message()}) {
      EXPECT_NE(said.find("restore or salvage again"), std::string::npos) << said;
    }
    EXPECT_TRUE(std::filesystem::exists(config().path + "/restoring"));
  }
}

TEST_F(StoreBuilderTest, WhatIsTakenNobodyElseGets) {
  StoreBuilder builder(config());
  ASSERT_TRUE(builder.Take());
  EXPECT_FALSE(TryOpen());
  const Status taken = StoreBuilder(config()).Take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kConflict);
  EXPECT_TRUE(std::filesystem::exists(builder.blocks_directory())) << "it is the other's";
}

TEST_F(StoreBuilderTest, ADirectoryThatIsLockedIsNotTaken) {
  std::filesystem::create_directories(config().path);
  DurableEnv env({[](double) {}, [] {}});
  leveldb::FileLock* lock = nullptr;
  ASSERT_TRUE(env.LockFile(config().path + "/LOCK", &lock).ok());
  const Status taken = StoreBuilder(config()).Take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(FilesBelow(config().path).size(), 1u);
  ASSERT_TRUE(env.UnlockFile(lock).ok());
  EXPECT_TRUE(StoreBuilder(config()).Take()) << "LOCK is no data";
}

TEST_F(StoreBuilderTest, WhatOthersPutThereStays) {
  StoreBuilder builder(config());
  ASSERT_TRUE(Build(&builder));
  std::ofstream(config().path + "/note") << "mine";
  builder.Leave();
  EXPECT_EQ(FilesBelow(config().path), (std::map<std::string, std::string>{{"note", "mine"}}));
}

TEST_F(StoreBuilderTest, WhatARefusedDaemonLeavesIsNoData) {
  std::filesystem::create_directories(config().path);
  std::ofstream(config().path + "/ballast") << "0";
  StoreBuilder builder(config());
  EXPECT_TRUE(Build(&builder));
}

TEST_F(StoreBuilderTest, AnotherDirectoryStaysAsItIs) {
  std::filesystem::create_directories(config().path);
  std::ofstream(config().path + "/note") << "mine";
  StoreBuilder builder(config());
  const Status taken = builder.Take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(FilesBelow(config().path).size(), 1u);
}

}  // namespace
}  // namespace tallyd
