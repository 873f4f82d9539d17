#include "storage/leveldb/env/directory_watch.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

class DirectoryWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    fs::create_directory(path_);
    std::ofstream(path_ + "/w") << "w";
    std::ofstream(path_ + "/l") << "l";
    watch_.Begin();
    ASSERT_TRUE(watch_.Check());
  }
  Status CheckLater() {
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    return watch_.Check();
  }
  void ExpectGone() {
    const Status gone = CheckLater();
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code(), ErrorCode::kUnavailable);
    EXPECT_NE(gone.error().message().find(path_), std::string::npos);
  }

  TempDir dir_;
  const std::string path_ = dir_.path() + "/db";
  DirectoryWatch watch_{path_, "w", "l"};
};

TEST_F(DirectoryWatchTest, ADirectoryThatWasRenamedIsGoneUntilItIsBack) {
  fs::rename(path_, dir_.path() + "/elsewhere");
  ASSERT_NO_FATAL_FAILURE(ExpectGone());
  fs::create_directory(path_);
  std::ofstream(path_ + "/w") << "w";
  ASSERT_NO_FATAL_FAILURE(ExpectGone()) << "another one of that name";
  fs::remove_all(path_);
  fs::rename(dir_.path() + "/elsewhere", path_);
  EXPECT_TRUE(CheckLater());
}

TEST_F(DirectoryWatchTest, OtherFilesInThePlaceOfThoseThatWereOpenedAreNoticed) {
  ASSERT_TRUE(watch_.CheckContent());
  fs::rename(path_ + "/l", dir_.path() + "/l");
  std::ofstream(path_ + "/l") << "l";
  EXPECT_TRUE(CheckLater()) << "the directory is there, and so is the witness";
  EXPECT_EQ(watch_.CheckContent().error().code(), ErrorCode::kUnavailable);
  fs::rename(dir_.path() + "/l", path_ + "/l");
  EXPECT_TRUE(CheckLater());
  EXPECT_TRUE(watch_.CheckContent()) << "they are back";
}

TEST_F(DirectoryWatchTest, WhatWasOpenedAnewIsRight) {
  fs::remove(path_ + "/l");
  EXPECT_TRUE(CheckLater());
  EXPECT_FALSE(watch_.CheckContent());
  std::ofstream(path_ + "/l") << "l";
  watch_.BeginContent();
  EXPECT_TRUE(watch_.CheckContent());
  EXPECT_TRUE(CheckLater());
  EXPECT_TRUE(watch_.CheckContent());
}

TEST_F(DirectoryWatchTest, ADirectoryThatWasRemovedOrEmptiedIsGone) {
  fs::remove(path_ + "/w");
  ASSERT_NO_FATAL_FAILURE(ExpectGone());
  fs::remove_all(path_);
  ASSERT_NO_FATAL_FAILURE(ExpectGone());
}

}  // namespace
}  // namespace tallyd
