#include "tests/storage/fault_calls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "storage/leveldb/env/durable_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

class FaultCallsTest : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(Path("a")) << "0123456789"; }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }

  TempDir dir_;
  DurableEnv env_{{[](double) {}, [] {}}};
  std::error_code failed_;
};

TEST_F(FaultCallsTest, ACallThatFailsUndoneDoesNothing) {
  FaultCalls calls(dir_.path());
  calls.Fail({.call = "rename", .path = "b", .error = EXDEV});
  fs::rename(Path("a"), Path("b"), failed_);
  EXPECT_EQ(failed_.value(), EXDEV);
  EXPECT_TRUE(calls.failed());
  EXPECT_TRUE(fs::exists(Path("a")));
  fs::rename(Path("a"), Path("b"));
}

TEST_F(FaultCallsTest, ACallThatFailsDoneHasDoneIt) {
  FaultCalls calls(dir_.path());
  calls.Fail({.call = "link", .sense = FaultSense::kDone});
  fs::create_hard_link(Path("a"), Path("b"), failed_);
  EXPECT_EQ(failed_.value(), EIO);
  EXPECT_TRUE(fs::exists(Path("b")));
}

TEST_F(FaultCallsTest, TheNthCallFailsOrAllFromThereOn) {
  FaultCalls calls(dir_.path());
  calls.Fail({.call = "stat", .path = "a", .at = 2});
  EXPECT_TRUE(fs::exists(Path("a"), failed_));
  EXPECT_TRUE(fs::exists(Path("b"), failed_) || !failed_);
  EXPECT_FALSE(fs::exists(Path("a"), failed_));
  EXPECT_EQ(failed_.value(), EIO);
  EXPECT_TRUE(fs::exists(Path("a"), failed_));
  calls.Fail({.call = "stat", .until_healed = true});
  EXPECT_FALSE(fs::exists(Path("a"), failed_));
  EXPECT_FALSE(fs::exists(Path("a"), failed_));
  calls.Heal();
  EXPECT_TRUE(fs::exists(Path("a"), failed_));
}

TEST_F(FaultCallsTest, CallsOfOtherDirectoriesAreLeftAlone) {
  const TempDir other;
  FaultCalls calls(dir_.path());
  calls.Fail({.until_healed = true});
  std::ofstream(other.path() + "/x") << "x";
  EXPECT_TRUE(fs::exists(other.path() + "/x"));
  EXPECT_FALSE(calls.failed());
  EXPECT_FALSE(std::ifstream(Path("a")));
  EXPECT_TRUE(calls.failed());
}

TEST_F(FaultCallsTest, WhatLibrariesCallIsCounted) {
  FaultCalls calls(dir_.path());
  for (const fs::directory_entry& entry : fs::directory_iterator(dir_.path())) {
    EXPECT_EQ(entry.path(), Path("a"));
  }
  std::string bytes;
  ASSERT_TRUE(leveldb::ReadFileToString(leveldb::Env::Default(), Path("a"), &bytes).ok());
  std::vector<std::string> names;
  for (const CallFault& kind : KindsOf(calls.TakeCalls())) names.push_back(kind.call + kind.path);
  const std::vector<std::string> expected{"open", "readdir", "opena", "reada", "closea"};
  for (const std::string& name : expected) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST_F(FaultCallsTest, TransfersComeShort) {
  FaultCalls calls(dir_.path());
  calls.LimitTransfers(3);
  const int descriptor = ::open(Path("a").c_str(), O_RDONLY);
  char bytes[10];
  EXPECT_EQ(::read(descriptor, bytes, sizeof bytes), 3);
  EXPECT_EQ(::pread(descriptor, bytes, sizeof bytes, 8), 2);
  ::close(descriptor);
}

}  // namespace
}  // namespace tallyd
