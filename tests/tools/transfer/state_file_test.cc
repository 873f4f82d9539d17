// A state is there whole or not at all, and what is none is named.
#include "tools/transfer/state_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tallyd {
namespace {

TEST(StateFileTest, WhatWasWrittenIsReadUntilItIsRemoved) {
  const std::string path = testing::TempDir() + "state-" + std::to_string(::getpid());
  ASSERT_TRUE(WriteState(path, {{"id", "x"}, {"offset", 7u}}));
  const std::optional<Json> state = ReadState(path).value();
  ASSERT_TRUE(state);
  EXPECT_EQ(StateText(*state, "id"), "x");
  EXPECT_EQ(StateNumber(*state, "offset"), 7u);
  EXPECT_EQ(StateNumber(*state, "id"), 0u);
  EXPECT_EQ(StateText(*state, "other"), "");
  EXPECT_TRUE(RemoveState(path));
  EXPECT_FALSE(ReadState(path).value());
  EXPECT_TRUE(RemoveState(path)) << "there is none";
}

TEST(StateFileTest, WhatIsNoStateIsNamed) {
  const std::string path = testing::TempDir() + "torn-" + std::to_string(::getpid());
  std::ofstream(path) << "{\"id\":";
  const Result<std::optional<Json>> read = ReadState(path);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find(path), std::string::npos);
  EXPECT_TRUE(RemoveState(path));
  EXPECT_FALSE(WriteState("/nonexistent/state", Json::object()));
}

TEST(StateFileTest, WhatCannotBeReadIsNotTakenForAbsent) {
  const std::string path = testing::TempDir() + "unread-" + std::to_string(::getpid());
  std::filesystem::create_symlink(path, path);  // A loop, which not even root can open.
  const Result<std::optional<Json>> looped = ReadState(path);
  ASSERT_FALSE(looped);
  EXPECT_EQ(looped.error().code(), ErrorCode::kIo);
  EXPECT_NE(looped.error().message().find(path), std::string::npos);
  EXPECT_TRUE(RemoveState(path));
  std::filesystem::create_directory(path);  // Opens, and cannot be read.
  const Result<std::optional<Json>> directory = ReadState(path);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code(), ErrorCode::kIo);
  std::filesystem::remove(path);
}

TEST(StateFileTest, AStateThatStaysIsAnErrorThatNamesIt) {
  const std::string path = testing::TempDir() + "stays-" + std::to_string(::getpid());
  std::filesystem::create_directory(path);
  const Status removed = RemoveState(path);
  ASSERT_FALSE(removed);
  EXPECT_NE(removed.error().message().find(path), std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tallyd
