#include "tools/token_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <regex>
#include <string>

#include "tools/new_token.h"

namespace tallyd {
namespace {

class TokenFileTest : public testing::Test {
 protected:
  ~TokenFileTest() override { ::unlink(file_.c_str()); }

  Result<std::string> Read(const std::string& text, mode_t mode = 0600) {
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << text;
    EXPECT_EQ(::chmod(file_.c_str(), mode), 0);
    return ReadTokenFile(file_);
  }

  const std::string file_ = testing::TempDir() + "token-" + std::to_string(::getpid());
};

TEST_F(TokenFileTest, ItsFirstLineIsTheToken) {
  EXPECT_EQ(*Read("tly_a"), "tly_a");
  EXPECT_EQ(*Read("tly_a\n"), "tly_a");
  EXPECT_EQ(*Read("tly_a \r\nand more\n"), "tly_a");
  EXPECT_EQ(*ReadTokenFile(""), "") << "there is no file";
}

TEST_F(TokenFileTest, OneThatOthersMayReadOrChangeIsRefusedByName) {
  for (const mode_t mode : {0604, 0602, 0601, 0644, 0666}) {
    const Result<std::string> token = Read("secret\n", mode);
    ASSERT_FALSE(token) << mode;
    EXPECT_EQ(token.error().code(), ErrorCode::kInvalid);
    EXPECT_NE(token.error().message().find(file_), std::string::npos);
    EXPECT_EQ(token.error().message().find("secret"), std::string::npos);
  }
  EXPECT_TRUE(Read("secret\n", 0640)) << "a group is one's own";
}

TEST_F(TokenFileTest, WhatIsNoTokenIsNotTold) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("a secret\n"), std::string("a\x01\n"),
        std::string(5000, 'a'), std::string("\nsecret\n")}) {
    const Result<std::string> token = Read(text);
    ASSERT_FALSE(token) << text.size();
    EXPECT_EQ(token.error().message().find("secret"), std::string::npos);
  }
  EXPECT_FALSE(ReadTokenFile("/nonexistent/token"));
}

TEST(NewToken, SaysWhatItIsAndIsAnotherEachTime) {
  const Result<std::string> token = MakeToken();
  ASSERT_TRUE(token);
  EXPECT_TRUE(std::regex_match(*token, std::regex("tly_[A-Za-z0-9_-]{43}_[0-9a-f]{8}")));
  EXPECT_NE(*token, *MakeToken());
}

}  // namespace
}  // namespace tallyd
