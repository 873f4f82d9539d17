// What lint and estimate say to people, and estimates as JSON.
#include "tools/lint_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tallyd {
namespace {

using testing::HasSubstr;

TEST(LintTextTest, CountsComeFirst) {
  EXPECT_EQ(CountsText({}), "nothing found");
  const std::vector<LintFinding> findings = {FindingOf(1, "A", "x"), FindingOf(2, "A", "y"),
                                             FindingOf(2, "B", "z"), FindingOf(30, "B", "w")};
  EXPECT_EQ(CountsText(findings), "1 error, 2 warnings, 1 hint");
}

TEST(LintTextTest, EachRuleHasItsCureOnce) {
  const std::vector<LintFinding> findings = {FindingOf(28, "", "many"), FindingOf(2, "HOT", "y"),
                                             FindingOf(2, "B", "z")};
  const std::string text = LintText(findings);
  EXPECT_THAT(text, HasSubstr("L28   error     -      many\n"));
  EXPECT_THAT(text, HasSubstr("L2    warn      HOT    y\n"));
  const std::string cure = findings[1].cure;
  EXPECT_EQ(text.find(cure), text.rfind(cure));
  EXPECT_NE(text.find(cure), std::string::npos);
}

TEST(LintTextTest, EachRuleHasACureOfItsOwn) {
  const std::vector<LintFinding> findings = {FindingOf(6, "T", "x"), SchemaFindingOf(6, "T", "y"),
                                             FindingOf(kTimeRule, "T", "z")};
  const std::string text = LintText(findings);
  for (const LintFinding& finding : findings) EXPECT_THAT(text, HasSubstr(finding.cure));
}

TEST(LintTextTest, EstimatesAreWholeNumbersWhereTheyAre) {
  TableEstimate table;
  table.table = "T";
  table.every_us = 5 * kUsPerSecond;
  table.rows_per_s = 20'000;
  table.rows_per_day = 1.5;
  const auto json = EstimateJson(std::vector{table})["tables"][0];
  EXPECT_EQ(json["rows_per_s"].dump(), "20000");
  EXPECT_EQ(json["rows_per_day"].dump(), "1.5");
  EXPECT_TRUE(json["cells_per_row"].is_null());
  EXPECT_EQ(json["every"], "5s");
}

TEST(LintTextTest, FixedColumnsStandBesideTheOthers) {
  TableEstimate table;
  table.table = "SENSOR";
  table.pattern = "new-column";
  table.columns_per_row = 96;
  table.fixed_columns_per_row = 1;
  EXPECT_THAT(EstimateText(std::vector{table}), HasSubstr(" 96+1 "));
}

}  // namespace
}  // namespace tallyd
