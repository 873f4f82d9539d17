// [[auth.tokens]]: what is read of them, and that no mistake shows what may be a secret.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/file/config.h"

namespace tallyd {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kHash[] = "c0de15bad5eed0fc0de15bad5eed0fc0de15bad5eed0fc0de15bad5eed0fc0de";

// A section of the name "a", its hash, and these lines.
std::string Section(const std::string& lines) {
  return "[[auth.tokens]]\nname = \"a\"\nsha256 = \"" + std::string(kHash) + "\"\n" + lines;
}

std::string MessageOf(const std::string& text) {
  const Result<Config> config = ParseConfig(text, "t.toml");
  return config ? "taken" : config.error().message();
}

TEST(LoadTokensTest, ReadsEveryKey) {
  const Result<Config> config = ParseConfig(
      Section("role = [\"read\", \"delete\"]\nscope = { tenant = \"acme\", site = \"7\" }\n"
              "expires = \"2030-01-01T00:00:00Z\"\n"),
      "t.toml");
  ASSERT_TRUE(config) << config.error().message();
  ASSERT_EQ(config->tokens.size(), 1u);
  const TokenConfig& token = config->tokens[0];
  EXPECT_EQ(token.name, "a");
  EXPECT_EQ(token.sha256, kHash);
  EXPECT_EQ(token.roles, (Roles{Role::kRead, Role::kDelete}));
  EXPECT_EQ(token.scope,
            (std::map<std::string, std::string>{{"site", "7"}, {"tenant", "acme"}}));
  EXPECT_EQ(token.expires, 1'893'456'000'000'000);
}

TEST(LoadTokensTest, OneRoleNeedsNoListAndWithoutATimeATokenIsForEver) {
  const Result<Config> config = ParseConfig(Section("role = \"metrics\"\n"), "t.toml");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->tokens[0].roles, Roles{Role::kMetrics});
  EXPECT_TRUE(config->tokens[0].scope.empty());
  EXPECT_GT(config->tokens[0].expires, kMaxTimeUs);
}

TEST(LoadTokensTest, WithoutASectionThereAreNone) {
  const Result<Config> config = ParseConfig("", "t.toml");
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->tokens.empty());
}

TEST(LoadTokensTest, EveryMistakeNamesLineKeyAndWhatIsAccepted) {
  const std::string roles = "read, write, delete, metrics, admin";
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {Section(""), "1: auth.tokens[0].role: is missing; accepted: one of " + roles},
      {Section("role = []\n"), "4: auth.tokens[0].role: is an empty list; accepted: one of "},
      {Section("role = 7\n"), "4: auth.tokens[0].role: is an integer; accepted: a string, or"},
      {Section("role = [\"read\", \"root\"]\n"),
       "4: auth.tokens[0].role: names a role that there is not; accepted: " + roles},
      {Section("role = \"read\"\nscope = {}\n"), "5: auth.tokens[0].scope: is empty, and would"},
      {Section("role = \"read\"\nscope = { t = 7 }\n"),
       "5: auth.tokens[0].scope.t: is an integer; accepted: a string"},
      {Section("role = \"read\"\nscope = { t = \"\" }\n"),
       "5: auth.tokens[0].scope.t: is empty; accepted: the value that the field has"},
      {Section("role = \"read\"\nscope = \"acme\"\n"),
       "5: auth.tokens[0].scope: is a string; accepted: a table"},
      {Section("role = \"read\"\nexpires = \"soon\"\n"), "5: auth.tokens[0].expires: \"soon\" is"},
      {Section("role = \"read\"\nrolle = \"admin\"\n"),
       "5: auth.tokens[0].rolle: unknown key, the nearest is role; accepted: expires, name, role, "
       "scope, sha256"},
      {Section("role = \"read\"\n") + Section("role = \"admin\"\n"),
       "6: auth.tokens[1].name: \"a\" is another token's name already; accepted: one"},
      {Section("role = \"read\"\n") + Section("role = \"admin\"\n"),
       "7: auth.tokens[1].sha256: is that of the token \"a\" already; accepted: one that no other"},
      {"[[auth.tokens]]\nrole = \"read\"\n", "1: auth.tokens[0].sha256: is missing; `tallyd"},
      {"[[auth.tokens]]\nname = \"-a\"\n", "2: auth.tokens[0].name: \"-a\" is no name for a token"},
      {"[auth]\n", "1: auth: holds no token, and would let anybody do everything; accepted: "},
      {"[auth]\ntokens = []\n", "1: auth: holds no token, and would let anybody do everything"},
      {"[auth]\ntoken = []\n", "2: auth.token: unknown key, the nearest is tokens"},
  };
  for (const auto& [text, message] : wrong) EXPECT_THAT(MessageOf(text), HasSubstr(message));
}

// Of what stands in the wrong place nobody knows that it is no secret.
TEST(LoadTokensTest, NoMistakeShowsAHashOrAToken) {
  const std::string token = "tly_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlYw_0badcafe";
  const std::string upper(64, 'A');
  EXPECT_THAT(MessageOf("[[auth.tokens]]\nsha256 = \"" + token + "\"\n"),
              testing::AllOf(HasSubstr("2: auth.tokens[0].sha256: is no SHA-256 of a token; "
                                       "accepted: 64 lowercase hexadecimal digits"),
                             Not(HasSubstr("c2Vj"))));
  EXPECT_THAT(MessageOf("[[auth.tokens]]\nsha256 = \"" + upper + "\"\n"), Not(HasSubstr("AAAA")));
  EXPECT_THAT(MessageOf("[[auth.tokens]]\nname = \"" + token + "\"\n"),
              testing::AllOf(HasSubstr("2: auth.tokens[0].name: begins as a token does"),
                             Not(HasSubstr("c2Vj"))));
  EXPECT_THAT(MessageOf(Section("role = \"" + token + "\"\n")), Not(HasSubstr("c2Vj")));
}

}  // namespace
}  // namespace tallyd
