#include "api/access/credentials.h"

#include <gtest/gtest.h>

#include <string>

#include "api/access/caller.h"
#include "ingest/text/json_text.h"

namespace tallyd {
namespace {

std::string Found(std::string_view authorization) {
  std::string decoded;
  return std::string(TokenOf(authorization, &decoded));
}

TEST(Credentials, AreABearerATokenOrThePasswordOfBasic) {
  EXPECT_EQ(Found("Bearer t-1"), "t-1");
  EXPECT_EQ(Found("bearer  t-1 "), "t-1");
  EXPECT_EQ(Found("Token t-1"), "t-1");
  EXPECT_EQ(Found("Basic " + EncodeBase64("anybody:t-1")), "t-1");
  EXPECT_EQ(Found("BASIC " + EncodeBase64(":t:1")), "t:1");
}

TEST(Credentials, WhatIsSomethingElseIsNone) {
  const std::string broken[] = {"",          "Bearer",     "Bearer ",  "t-1",
                                "Digest t-1", "Bearert-1", "Basic t-1", "Basic ====",
                                "Basic " + EncodeBase64("t-1")};
  for (const std::string& header : broken) EXPECT_EQ(Found(header), "") << header;
}

TEST(Credentials, AreLeftOutOfWhatIsLogged) {
  EXPECT_EQ(WithoutTokens("/v1/streams/s/events?guards=off"), "/v1/streams/s/events?guards=off");
  EXPECT_EQ(WithoutTokens("/a?x=tly_c2VjcmV0_0bad&y=1"), "/a?x=...&y=1");
  EXPECT_EQ(WithoutTokens("/tly_c2VjcmV0_0bad/rows"), "/.../rows");
  EXPECT_EQ(WithoutTokens("/write?u=me&p=sec%20ret&db=x"), "/write?u=me&p=...&db=x");
  EXPECT_EQ(WithoutTokens("/write?p=secret"), "/write?p=...");
  EXPECT_EQ(WithoutTokens("/write?tp=1&p="), "/write?tp=1&p=");
}

class CallerTest : public ::testing::Test {
 protected:
  static TokenConfig TokenOfName(const std::string& name, std::string_view token) {
    TokenConfig config;
    config.name = name;
    config.sha256 = HexOf(*DigestOf(token));
    return config;
  }

  LiveTokens tokens_;
  Caller caller_;
};

TEST_F(CallerTest, IsWhoeverTheHeaderOfEachRequestSays) {
  tokens_.Set({TokenOfName("a", "1"), TokenOfName("b", "2")});
  EXPECT_EQ(caller_.Identify(tokens_, "", 0), nullptr);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(caller_.Identify(tokens_, "Bearer 1", 0)->name, "a");
    EXPECT_EQ(caller_.Identify(tokens_, "Bearer 1", 0)->name, "a");
    EXPECT_EQ(caller_.Identify(tokens_, "Bearer 2", 0)->name, "b");
    EXPECT_EQ(caller_.Identify(tokens_, "Bearer 3", 0), nullptr);
    EXPECT_EQ(caller_.Identify(tokens_, "", 0), nullptr);
  }
}

TEST_F(CallerTest, AReloadAndAnExpiryCountForTheNextRequest) {
  TokenConfig token = TokenOfName("a", "1");
  token.expires = 100;
  tokens_.Set({token});
  EXPECT_EQ(caller_.Identify(tokens_, "Bearer 1", 99)->name, "a");
  EXPECT_EQ(caller_.Identify(tokens_, "Bearer 1", 100), nullptr);
  EXPECT_EQ(caller_.Identify(tokens_, "Bearer 1", 99)->name, "a");
  tokens_.Set({TokenOfName("b", "2")});
  EXPECT_EQ(caller_.Identify(tokens_, "Bearer 1", 99), nullptr);
  tokens_.Set({TokenOfName("b", "2"), TokenOfName("c", "1")});
  EXPECT_EQ(caller_.Identify(tokens_, "Bearer 1", 99)->name, "c");
}

}  // namespace
}  // namespace tallyd
