// The list of rules, and the page that describes it.
#include "config/lint/finding.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tallyd {
namespace {

TEST(FindingTest, ThePageHasTheRowOfEveryRule) {
  std::ostringstream text;
  text << std::ifstream(TALLYD_SOURCE_DIR "/docs/lint.md").rdbuf();
  const auto expect = [&](const std::string& name, const LintRule& rule) {
    const std::string row = fmt::format("| {} | {} | {} | {} | {} |\n", name, rule.severity,
                                        rule.what, rule.why, rule.cure);
    EXPECT_NE(text.str().find(row), std::string::npos) << row;
  };
  for (const LintRule& rule : LintRules()) expect(fmt::format("L{}", rule.number), rule);
  for (const LintRule& rule : SchemaRules()) expect(fmt::format("S{}", rule.number), rule);
  expect("time", TimeRule());
}

TEST(FindingTest, ARuleAboutTheSchemasEventsHasALetterOfItsOwn) {
  EXPECT_EQ(SchemaFindingOf(6, "T", "x").rule, "S6");
}

TEST(FindingTest, ARuleMayHaveANameInsteadOfANumber) {
  const LintFinding finding = FindingOf(kTimeRule, "T", "x");
  EXPECT_EQ(finding.rule, "time");
  EXPECT_EQ(ToString(finding.severity), "warn");
  EXPECT_EQ(finding.cure, TimeRule().cure);
}

TEST(FindingTest, RulesStandByKindAndNumber) {
  const std::vector<std::string> names = {"L2", "L6", "L10", "L35", "S6", "S35", "else", "time"};
  EXPECT_TRUE(std::ranges::is_sorted(names, {}, PlaceOfRule));
  for (const std::string& name : names) EXPECT_EQ(std::get<2>(PlaceOfRule(name)), name);
}

TEST(FindingTest, HasTheRulesSeverityAndCure) {
  const LintFinding finding = FindingOf(2, "HOT", "x");
  EXPECT_EQ(finding.rule, "L2");
  EXPECT_EQ(ToString(finding.severity), "warn");
  EXPECT_EQ(finding.table, "HOT");
  EXPECT_EQ(finding.cure, LintRules()[1].cure);
}

TEST(FindingTest, OneErrorIsEnough) {
  std::vector<LintFinding> findings{FindingOf(2, "A", ""), FindingOf(30, "A", "")};
  EXPECT_FALSE(AnyError(findings));
  findings.push_back(FindingOf(1, "A", ""));
  EXPECT_TRUE(AnyError(findings));
}

}  // namespace
}  // namespace tallyd
