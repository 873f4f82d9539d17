// A state and its chunk are there whole, or told to be none.
#include "tools/copy/copy_state.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tallyd {
namespace {

TEST(CopyStateTest, AStateIsReadWithItsChunkUntilItIsRemoved) {
  const CopyStateFile file(testing::TempDir() + "copying-" + std::to_string(::getpid()));
  EXPECT_FALSE(file.Read().value());
  ASSERT_TRUE(file.Write({{"at", 1u}}, "first\n"));
  ASSERT_TRUE(file.Write({{"at", 2u}}, "{\"ts\":1}\n\n\0x\n"));
  const std::optional<CopyState> state = file.Read().value();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->told["at"], 2u);
  EXPECT_EQ(state->chunk, "{\"ts\":1}\n\n\0x\n");
  EXPECT_TRUE(file.Remove());
  EXPECT_FALSE(file.Read().value());
}

TEST(CopyStateTest, WhatIsTornOrNoStateIsNamed) {
  const CopyStateFile file(testing::TempDir() + "torn-copying-" + std::to_string(::getpid()));
  for (const char* text : {"", "x", "{}", "{\"chunk_bytes\":5}\nfour"}) {
    std::ofstream(file.path()) << text;
    const auto read = file.Read();
    if (text == std::string("{}")) continue;  // No chunk, and none is there.
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message().find(file.path()), std::string::npos);
  }
  EXPECT_TRUE(file.Remove());
}

TEST(CopyStateTest, ADirectoryIsNoState) {
  const auto read = CopyStateFile(testing::TempDir()).Read();
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("is a directory"), std::string::npos);
}

TEST(CopyStateTest, WhatCannotBeReadIsNotTakenForAbsent) {
  const CopyStateFile file(testing::TempDir() + "unread-copying-" + std::to_string(::getpid()));
  std::filesystem::create_symlink(file.path(), file.path());  // A loop, which nobody can open.
  const auto read = file.Read();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::kIo);
  EXPECT_NE(read.error().message().find(file.path()), std::string::npos);
  EXPECT_TRUE(file.Remove());
}

}  // namespace
}  // namespace tallyd
