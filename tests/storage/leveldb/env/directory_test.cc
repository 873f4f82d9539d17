#include "storage/leveldb/env/directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "storage/leveldb/env/durable_env.h"
#include "tests/storage/fault_calls.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class DirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "c"}) std::ofstream(Path(name)) << name;
  }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }
  bool SyncedTheDirectory() {
    return std::ranges::any_of(calls_.TakeCalls(), [](const MadeCall& call) {
      return call.call == "sync" && call.path.empty();
    });
  }

  TempDir dir_;
  DurableEnv env_{{[](double) {}, [] {}}};
  FaultCalls calls_{dir_.path()};
};

TEST_F(DirectoryTest, ItIsListedWholeOrNotAtAll) {
  std::vector<std::string> names;
  for (uint64_t at = 1; at <= 5; ++at) {
    calls_.Fail({.call = "readdir", .at = at});
    EXPECT_FALSE(env_.GetChildren(dir_.path(), &names).ok()) << at;
    EXPECT_TRUE(names.empty());
  }
  calls_.Fail({.call = "open"});
  EXPECT_FALSE(env_.GetChildren(dir_.path(), &names).ok());
  ASSERT_TRUE(env_.GetChildren(dir_.path(), &names).ok());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{".", "..", "a", "b", "c"}));
  EXPECT_TRUE(env_.GetChildren(Path("none"), &names).IsNotFound());
}

TEST_F(DirectoryTest, WhatNobodyCanTellOfIsNotAbsent) {
  EXPECT_FALSE(env_.FileExists(Path("none")));
  EXPECT_FALSE(*IsThere(&env_, Path("none")));
  EXPECT_TRUE(*IsThere(&env_, Path("a")));
  EXPECT_TRUE(*HoldsAnything(&env_, dir_.path()));
  EXPECT_FALSE(*HoldsAnything(&env_, Path("none")));
  calls_.Fail({.call = "stat"});
  EXPECT_TRUE(env_.FileExists(Path("none")));
  calls_.Fail({.call = "stat"});
  EXPECT_FALSE(IsThere(&env_, Path("none")));
  calls_.Fail({.call = "readdir"});
  EXPECT_FALSE(HoldsAnything(&env_, dir_.path()));
}

TEST_F(DirectoryTest, ItsNameIsDurableThoughAnAttemptBeforeMadeIt) {
  calls_.Fail({.call = "sync"});
  EXPECT_FALSE(EnsureDirectory(&env_, Path("d")));
  ASSERT_TRUE(std::filesystem::exists(Path("d")));
  calls_.TakeCalls();
  EXPECT_TRUE(EnsureDirectory(&env_, Path("d")));
  EXPECT_TRUE(SyncedTheDirectory());
  calls_.Fail({.call = "mkdir", .sense = FaultSense::kDone});
  EXPECT_FALSE(EnsureDirectory(&env_, Path("e")));
  EXPECT_TRUE(EnsureDirectory(&env_, Path("e")));
  calls_.Fail({.call = "mkdir"});
  EXPECT_FALSE(EnsureDirectory(&env_, Path("f")));
}

TEST_F(DirectoryTest, AStoresDirectoryIsMadeWithThoseAboveIt) {
  ASSERT_TRUE(MakeStoreDirectory(Path("x/y/db/")));
  EXPECT_TRUE(SyncedTheDirectory());
  EXPECT_EQ(std::filesystem::status(Path("x/y/db")).permissions(),
            std::filesystem::perms::owner_all);
  EXPECT_TRUE(MakeStoreDirectory(Path("x/y/db")));
  calls_.Fail({.call = "stat"});
  EXPECT_FALSE(MakeStoreDirectory(Path("x/y/db")));
  calls_.Fail({.call = "sync"});
  EXPECT_FALSE(MakeStoreDirectory(Path("z")));
  EXPECT_FALSE(MakeStoreDirectory(Path("a/db"))) << "a file is in its way";
}

}  // namespace
}  // namespace tallyd
