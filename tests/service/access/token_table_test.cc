#include "service/access/token_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/access/live_tokens.h"

namespace tallyd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TokenConfig TokenNamed(std::string name, std::string_view token, Roles roles = {Role::kRead}) {
  TokenConfig config;
  config.name = std::move(name);
  config.sha256 = HexOf(*DigestOf(token));
  config.roles = roles;
  return config;
}

TEST(TokenDigest, IsTheSha256OfTheWholeToken) {
  EXPECT_EQ(HexOf(*DigestOf("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(DigestOfHex(HexOf(*DigestOf("abc"))), DigestOf("abc"));
}

TEST(TokenDigest, WhatIsEmptyOrTooLongIsNoToken) {
  EXPECT_FALSE(DigestOf(""));
  EXPECT_TRUE(DigestOf(std::string(kMaxTokenBytes, 'a')));
  EXPECT_FALSE(DigestOf(std::string(kMaxTokenBytes + 1, 'a')));
  EXPECT_FALSE(DigestOfHex("ab"));
  EXPECT_FALSE(DigestOfHex(std::string(64, 'A')));
}

TEST(TokenTable, FindsEachTokenAndNoOther) {
  std::vector<TokenConfig> tokens;
  for (int i = 0; i < 100; ++i) {
    tokens.push_back(TokenNamed("n" + std::to_string(i), "t" + std::to_string(i)));
  }
  const TokenTable table(tokens, TokenTable());
  for (int i = 0; i < 100; ++i) {
    const PrincipalPtr found = table.Find("t" + std::to_string(i));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->name, "n" + std::to_string(i));
  }
  for (const char* other : {"", "t", "t100", "T1", "t1 ", "n1"}) {
    EXPECT_EQ(table.Find(other), nullptr) << other;
  }
  EXPECT_EQ(table.Find(tokens[0].sha256), nullptr) << "who has seen the file has no token";
  EXPECT_EQ(table.Named("n7")->name, "n7");
  EXPECT_EQ(table.Named("t7"), nullptr);
}

TEST(TokenTable, ATokenThatSaysTheSameHasTheSamePrincipal) {
  const TokenTable before({TokenNamed("a", "1"), TokenNamed("b", "2")}, TokenTable());
  const TokenTable after({TokenNamed("b", "2", {Role::kWrite}), TokenNamed("a", "1")}, before);
  EXPECT_EQ(before.Named("a"), after.Named("a"));
  EXPECT_NE(before.Named("b"), after.Named("b"));
  EXPECT_TRUE(after.Has(*before.Named("a")));
  EXPECT_FALSE(after.Has(*before.Named("b")));
}

TEST(TokenTable, TellsWhatBecameOfTheTokensByName) {
  const TokenTable before({TokenNamed("a", "1"), TokenNamed("b", "2"), TokenNamed("c", "3")},
                          TokenTable());
  const TokenTable after({TokenNamed("b", "other"), TokenNamed("c", "3"), TokenNamed("d", "1")},
                         before);
  const TokenChanges changes = TokenChanges::Between(before, after);
  EXPECT_THAT(changes.added, ElementsAre("d"));
  EXPECT_THAT(changes.removed, ElementsAre("a"));
  EXPECT_THAT(changes.changed, ElementsAre("b"));
}

TEST(LiveTokens, IsOpenToAnybodyUntilThereIsAToken) {
  LiveTokens tokens;
  EXPECT_TRUE(tokens.is_open());
  EXPECT_TRUE(tokens.IsCurrent(*Anybody(), 0));
  tokens.Set({TokenNamed("a", "1")});
  EXPECT_FALSE(tokens.is_open());
  EXPECT_FALSE(tokens.IsCurrent(*Anybody(), 0));
  EXPECT_TRUE(tokens.IsCurrent(*tokens.Find("1", 0), 0));
}

TEST(LiveTokens, AnExpiredTokenIsUnknown) {
  LiveTokens tokens;
  TokenConfig token = TokenNamed("a", "1");
  token.expires = 100;
  tokens.Set({token});
  const PrincipalPtr principal = tokens.Find("1", 99);
  ASSERT_NE(principal, nullptr);
  EXPECT_TRUE(tokens.IsCurrent(*principal, 99));
  EXPECT_FALSE(tokens.IsCurrent(*principal, 100));
  EXPECT_EQ(tokens.Find("1", 100), nullptr);
  EXPECT_EQ(tokens.Named("a", 100), nullptr);
  EXPECT_EQ(tokens.NextExpiry(99), 100);
  EXPECT_GT(tokens.NextExpiry(100), kMaxTimeUs);
}

TEST(LiveTokens, AReloadRevokesWhatItTakesAwayOrChangesAndNothingElse) {
  LiveTokens tokens;
  tokens.Set({TokenNamed("a", "1"), TokenNamed("b", "2"), TokenNamed("c", "3")});
  const PrincipalPtr a = tokens.Find("1", 0);
  const PrincipalPtr b = tokens.Find("2", 0);
  const PrincipalPtr c = tokens.Find("3", 0);
  const uint64_t generation = tokens.generation();
  tokens.Set({TokenNamed("b", "2", {Role::kAdmin}), TokenNamed("c", "3")});
  EXPECT_GT(tokens.generation(), generation);
  EXPECT_FALSE(tokens.IsCurrent(*a, 0));
  EXPECT_FALSE(tokens.IsCurrent(*b, 0));
  EXPECT_TRUE(tokens.IsCurrent(*c, 0));
  EXPECT_EQ(tokens.Find("1", 0), nullptr);
}

}  // namespace
}  // namespace tallyd
