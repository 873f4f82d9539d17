// A state is there whole or not at all, and what is none is named.
#include "daemon/transfer/state_file.h"

#include <gtest/gtest.h>

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
  RemoveState(path);
  EXPECT_FALSE(ReadState(path).value());
}

TEST(StateFileTest, WhatIsNoStateIsNamed) {
  const std::string path = testing::TempDir() + "torn-" + std::to_string(::getpid());
  std::ofstream(path) << "{\"id\":";
  const Result<std::optional<Json>> read = ReadState(path);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find(path), std::string::npos);
  RemoveState(path);
  EXPECT_FALSE(WriteState("/nonexistent/state", Json::object()));
}

}  // namespace
}  // namespace tallyd
