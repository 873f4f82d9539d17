// S35, by what the tokens' scopes name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/file/config.h"
#include "config/lint/lint.h"

namespace tallyd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string SharedTable(const std::string& name, const std::string& stream,
                        const std::string& row_key) {
  return fmt::format(
      "[tables.{}]\nstream = \"{}\"\npattern = \"single-timestamp\"\nrow_key = \"{}\"\n"
      "families.F = {{}}\n",
      name, stream, row_key);
}

// `digit` is its name, and all of its hash.
std::string TokenOf(char digit, const std::string& scope) {
  return fmt::format("[[auth.tokens]]\nname = \"{}\"\nsha256 = \"{}\"\nrole = \"write\"\n{}\n",
                     digit, std::string(64, digit), scope);
}

std::vector<LintFinding> SharedIn(const std::string& toml) {
  const Result<Config> config = ParseConfig(toml, "t.toml");
  EXPECT_TRUE(config) << config.error().message();
  if (!config) return {};
  std::vector<LintFinding> findings = Lint(*config->schema, ScopeFieldsOf(config->tokens));
  std::erase_if(findings, [](const LintFinding& finding) { return finding.rule != "S35"; });
  return findings;
}

std::vector<std::string> SharedTables(const std::string& toml) {
  std::vector<std::string> tables;
  for (const LintFinding& finding : SharedIn(toml)) tables.push_back(finding.table);
  return tables;
}

const std::string kTwo = SharedTable("A", "s", "{tenant}#{host}#{ts:ms}") +
                         SharedTable("B", "s", "{host}#{ts:ms}") +
                         SharedTable("C", "other", "{host}#{ts:ms}");

TEST(ScopeRulesTest, ATableThatTenantsShareIsToldWithWhatWouldBeRight) {
  const auto findings = SharedIn(kTwo + TokenOf('a', "scope = { tenant = \"acme\" }"));
  ASSERT_EQ(findings.size(), 1u) << "the stream that no key of which holds it is not of tenants";
  EXPECT_EQ(findings[0].table, "B");
  EXPECT_EQ(findings[0].severity, Severity::kWarn);
  EXPECT_THAT(findings[0].detail, HasSubstr("\"tenant\""));
  EXPECT_THAT(findings[0].detail, HasSubstr("key of A"));
  EXPECT_THAT(findings[0].detail, HasSubstr("\"{tenant}#{host}#{ts:ms}\" would"));
}

TEST(ScopeRulesTest, NoScopeNoFinding) {
  EXPECT_THAT(SharedIn(kTwo), IsEmpty());
  EXPECT_THAT(SharedIn(kTwo + TokenOf('a', "")), IsEmpty());
  EXPECT_THAT(SharedIn(kTwo + TokenOf('a', "scope = { site = \"x\" }")), IsEmpty());
}

TEST(ScopeRulesTest, ASaltGivesNothingBack) {
  const std::string salted = SharedTable("A", "s", "{tenant}#{ts:ms}") +
                             SharedTable("B", "s", "{tenant:salt(4)}#{host}#{ts:ms}");
  EXPECT_THAT(SharedTables(salted + TokenOf('a', "scope = { tenant = \"acme\" }")),
              ElementsAre("B"));
}

TEST(ScopeRulesTest, ACapThatTenantsShareIsTold) {
  const std::string capped =
      fmt::format("{}max_bytes = \"1MiB\"\n", SharedTable("A", "s", "{tenant}#{ts:ms}"));
  EXPECT_THAT(SharedIn(capped + TokenOf('a', "")), IsEmpty());
  const auto findings = SharedIn(capped + TokenOf('a', "scope = { tenant = \"acme\" }"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].table, "A");
  EXPECT_THAT(findings[0].detail, HasSubstr("max_bytes"));
  EXPECT_THAT(findings[0].detail, HasSubstr("\"tenant\""));
}

TEST(ScopeRulesTest, EveryFieldOfEveryScopeCountsOnce) {
  const std::string tables = SharedTable("A", "s", "{tenant}#{site}#{ts:ms}") +
                             SharedTable("B", "s", "{tenant}#{ts:ms}") +
                             SharedTable("C", "s", "{host}#{ts:ms}");
  const std::string tokens = TokenOf('a', "scope = { tenant = \"acme\", site = \"x\" }") +
                             TokenOf('b', "scope = { tenant = \"initech\" }");
  EXPECT_THAT(SharedTables(tables + tokens), ElementsAre("B", "C", "C"));
}

TEST(ScopeRulesTest, OfTokensTheFieldsAloneAreKnown) {
  const std::vector<TokenConfig> tokens = {
      {.name = "a", .sha256 = "x", .roles = {}, .scope = {{"tenant", "acme"}, {"site", "s"}}},
      {.name = "b", .sha256 = "y", .roles = {}, .scope = {{"tenant", "initech"}}},
      {.name = "c", .sha256 = "z", .roles = {}, .scope = {}}};
  EXPECT_THAT(ScopeFieldsOf(tokens), ElementsAre("site", "tenant"));
}

}  // namespace
}  // namespace tallyd
