// Each rule of lint with a configuration that breaks it and one that is like it and does not.
#include "config/lint/lint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/file/lenient_config.h"

namespace tallyd {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<LintFinding> LintText(const std::string& toml, const LiveFacts* live = nullptr) {
  const Result<LenientConfig> config = ParseConfigLeniently(toml, "t.toml");
  EXPECT_TRUE(config) << config.error().message() << "\n" << toml;
  if (!config) return {};
  std::vector<LintFinding> findings;
  for (const RuledMistake& mistake : config->ruled) {
    findings.push_back(FindingOf(mistake.rule, mistake.table, mistake.text));
  }
  const ScopeFields scope_fields = ScopeFieldsOf(config->config.tokens);
  for (LintFinding& finding : Lint(*config->config.schema, scope_fields, live)) {
    findings.push_back(finding);
  }
  return findings;
}

std::vector<LintFinding> OfRule(std::vector<LintFinding> findings, const std::string& rule) {
  std::erase_if(findings, [&](const LintFinding& finding) { return finding.rule != rule; });
  return findings;
}

std::vector<std::string> RulesOf(const std::string& toml) {
  std::vector<std::string> rules;
  for (const LintFinding& finding : LintText(toml)) rules.push_back(finding.rule);
  return rules;
}

// A table T of stream s; `stream` is what its section says, `more` what the table says beside.
std::string TableText(const std::string& row_key, const std::string& stream = "",
                      const std::string& pattern = "single-timestamp",
                      const std::string& more = "families.F = {}") {
  return fmt::format(
      "[streams.s]\n{}\n[tables.T]\nstream = \"s\"\npattern = \"{}\"\nrow_key = \"{}\"\n{}\n",
      stream, pattern, row_key, more);
}

std::string Families(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("families.F{} = {{}}\n", i);
  return text + "columns = [{ family = \"F0\" }]\n";
}

std::string Tables(int count, const std::string& more = "") {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text +=
        fmt::format("[tables.{}{}]\npattern = \"latest\"\nrow_key = \"{{k}}\"\nfamilies.F = {{}}\n",
                    std::string(1, static_cast<char>('A' + i % 26)), i);
  }
  return text + more;
}

std::string Fields(int count) {
  std::string text = "fields.f0 = {}\n";
  for (int i = 1; i < count; ++i) text += fmt::format("fields.f{} = {{}}\n", i);
  return text;
}

std::string Twin(const std::string& name, const std::string& row_key = "{k}#{ts:ms}") {
  return fmt::format(
      "[tables.{}]\nstream = \"s\"\npattern = \"single-timestamp\"\nrow_key = \"{}\"\nfamilies.F = "
      "{{}}\n",
      name, row_key);
}

std::string Sum(const std::string& name, const std::string& row_key, const std::string& more = "") {
  return fmt::format(
      "[tables.{}]\nstream = \"s\"\npattern = \"aggregate\"\nrow_key = \"{}\"\nfamilies.F = {{ "
      "aggregate = \"sum\", bucket = \"1d\" }}\n{}",
      name, row_key, more);
}

std::string Nightly(const std::string& keep) {
  return TableText("{k}#{ts:day}", "", "new-column",
                   "families.F = {}\ndaily = { name = \"N_{date}\"" + keep + " }");
}

constexpr char kByHost[] = "queries = [{ fields = [\"host\"] }]";

struct RuleCase {
  int rule;
  std::string breaks;
  std::string keeps;
};

std::vector<RuleCase> KeyCases() {
  const std::string domains = "fields.domain = { domain = true, distinct = ";
  return {
      {1, TableText("{ts:ms}#{user}"), TableText("{user}#{ts:ms}")},
      {2, TableText("BATTERY#{ts:ms}"), TableText("VEGGIEGARDEN#{ts:day}", "every = \"1d\"")},
      {3, TableText("{user:zero(10)}#{ts:ms}", "fields.user = { sequential = true }"),
       TableText("{user:reverse_digits}#{ts:ms}", "fields.user = { sequential = true }")},
      {4, TableText("{device}#memusage", "every = \"1s\""),
       TableText("{device}#memusage", "every = \"1s\"", "latest")},
      {5, TableText("{user_md5}#{ts:ms}"), TableText("{user:salt(9)}#{user}#{ts:ms}")},
      {6, TableText("{user}\\u0001{ts:ms}"), TableText("{user}|{ts:ms}")},
      {7, TableText("{type}#{device}#{ts:ms}", "queries = [{ fields = [\"device\"] }]"),
       TableText("{type}#{device}#{ts:ms}", "queries = [{ fields = [\"type\"] }]")},
      {8, TableText("{field}#{host}#{ts:ms}", kByHost),
       TableText("{host}#{field}#{ts:ms}", kByHost)},
      {9, TableText("{domain}#{ts:ms}", domains + "5000 }"),
       TableText("{domain:reverse_domain}#{ts:ms}", domains + "5000 }")},
      {10, TableText("{domain:reverse_domain}#{ts:ms}", domains + "9 }"),
       TableText("{domain:reverse_domain}#{ts:ms}", domains + "10 }")},
      {11, TableText("BATTERY#{USER}#{ts:ms}", "fields.USER = { personal = true }"),
       TableText("BATTERY#{USER}#{ts:ms}", "fields.NAME = { personal = true }")},
      {12, TableText("{a:pad(1024)}{b:pad(1024)}{c:pad(1024)}{d:pad(1012)}{ts:ms}"),
       TableText("{a:pad(1024)}{b:pad(1024)}{c:pad(1024)}{d:pad(1011)}{ts:ms}")},
      {13, TableText("{host}#{ts}", kByHost), TableText("{host}#{ts:ms}", kByHost)},
      {14, TableText("{host}{metric}#{ts:ms}"), TableText("{host:pad(9)}{metric}#{ts:ms}")},
      {15,
       TableText("{host}#{region}#{ts:ms}",
                 "fields.host = { distinct = 900 }\nfields.region = { distinct = 3 }"),
       TableText("{region}#{host}#{ts:ms}",
                 "fields.host = { distinct = 900 }\nfields.region = { distinct = 3 }")},
      {16, TableText("{host}#{ts:reverse(ms)}", kByHost),
       TableText("{host}#{ts:reverse(ms)}",
                 "queries = [{ fields = [\"host\"], newest_first = true }]")},
      {17, TableText("BATTERY#{ts:salt(3)}#{ts:ms}", "fields.USER = { distinct = 5000 }"),
       TableText("BATTERY#{ts:salt(3)}#{ts:ms}", "fields.USER = { distinct = 2 }")},
  };
}

std::vector<RuleCase> TableCases() {
  const std::string rare = "every = \"1d\"";
  const std::string keeps =
      "fields.a = { keep = \"7d\" }\nfields.b = { keep = \"365d\" }\nfields.c = {}";
  return {
      {18, TableText("{symbol}", rare, "new-cell", "families.F = { max_versions = 5 }"),
       TableText("{symbol}#{ts:day}", rare, "new-cell", "families.F = { max_versions = 5 }")},
      {19, TableText("{k}#{ts:week}", "", "new-cell"),
       TableText("{k}#{ts:week}", "", "new-cell", "families.F = { max_versions = 20160 }")},
      {20,
       TableText("{k}#{field}#{ts:week}", "", "new-column", "families.F = { max_versions = 1 }"),
       TableText("{k}#{field}#{ts:week}", "", "new-column", "families.F = { max_versions = 2 }")},
      {21, TableText("{k}#{field}", "", "new-column"),
       TableText("{k}#{field}", "", "new-column", "families.F = { max_age = \"31d\" }")},
      {22,
       TableText("{k}#{ts:week}", "every = \"1s\"\n" + Fields(50), "new-cell",
                 "families.F = { max_age = \"365d\" }"),
       TableText("{k}#{ts:hour}", "every = \"1s\"\n" + Fields(50), "new-cell",
                 "families.F = { max_age = \"365d\" }")},
      {24, TableText("{k}#{ts:ms}", "", "single-timestamp", Families(101)),
       TableText("{k}#{ts:ms}", "", "single-timestamp", Families(100))},
      {25, TableText("{k}#{ts:ms}", keeps),
       TableText("{k}#{ts:ms}", keeps, "single-timestamp",
                 "families.A = {}\nfamilies.B = {}\ncolumns = [{ family = \"A\", fields = [\"a\"] "
                 "}, { family = \"B\", fields = [\"b\", \"c\"] }]")},
      {26,
       TableText("{k}#{ts:ms}", "", "single-timestamp",
                 "families.F = {}\ncolumns = [{ family = \"F\", fields = [\"" +
                     std::string(33, 'n') + "\"] }]"),
       TableText("{k}#{ts:ms}", "", "single-timestamp",
                 "families.F = {}\ncolumns = [{ family = \"F\", fields = [\"" +
                     std::string(33, 'n') + "\"], rename = { " + std::string(33, 'n') +
                     " = \"N\" } }]")},
      {34, TableText("{k}#{ts:ms}", "every = \"600ms\"\nfields.requests_total = {}"),
       TableText("{k}#{ts:ms}", "every = \"601ms\"\nfields.requests_total = {}")},
      {35, TableText("{order}", rare, "single-timestamp", "families.F = { max_versions = 1 }"),
       TableText("{order}#{ts:ms}", rare, "single-timestamp", "families.F = { max_versions = 1 }")},
  };
}

std::vector<RuleCase> InstanceCases() {
  const std::string read = "queries = [{ fields = [\"k\"] }]\n";
  const std::string two =
      "families.A = {}\nfamilies.B = {}\ncolumns = [{ family = \"A\", fields = [\"a\"] }, { family "
      "= \"B\", fields = [\"b\"] }]";
  const std::string plain = "columns = [{ family = \"P\" }]\nfamilies.P = {}\n";
  return {
      {27, Twin("METRIC_2023") + Twin("METRIC_2024"),
       Twin("METRIC_2023") + Twin("METRIC_2024", "{k}#{h}#{ts:ms}")},
      {28, Tables(1001), Tables(1000)},
      {29, Sum("BY_SHOP", "{shop}") + Sum("BY_SELLER", "{seller}"),
       Sum("BY_SHOP", "{shop}") + Sum("ALSO_BY_SHOP", "{shop}")},
      {30, TableText("{k}#{ts:ms}", read, "single-timestamp", two),
       TableText("{k}#{ts:ms}", read, "single-timestamp")},
      {31, TableText("{k}#{ts:ms}", read + Fields(64)),
       TableText("{k}#{ts:ms}", read + Fields(63))},
      {32, Sum("T", "{k}", plain),
       Sum("T", "{k}", "families.P = {}\ncolumns = [{ family = \"F\" }]\n")},
      {33,
       Sum("T", "{k}", "columns = [{ family = \"F\", name = \"n\", value = \"{amount} EUR\" }]\n"),
       Sum("T", "{k}", "columns = [{ family = \"F\", name = \"n\", value = \"{amount}\" }]\n")},
  };
}

class LintRuleTest : public testing::TestWithParam<RuleCase> {
 protected:
  std::string Rule() const { return "L" + std::to_string(GetParam().rule); }
};

TEST_P(LintRuleTest, FindsWhatBreaksIt) {
  const auto found = OfRule(LintText(GetParam().breaks), Rule());
  ASSERT_EQ(found.size(), 1u) << GetParam().breaks;
  EXPECT_FALSE(found[0].detail.empty());
  EXPECT_EQ(found[0].cure, LintRules()[static_cast<size_t>(GetParam().rule) - 1].cure);
}

TEST_P(LintRuleTest, IsSilentOtherwise) {
  EXPECT_THAT(OfRule(LintText(GetParam().keeps), Rule()), IsEmpty()) << GetParam().keeps;
}

std::string NameOf(const testing::TestParamInfo<RuleCase>& tested) {
  return fmt::format("L{:02}", tested.param.rule);
}

INSTANTIATE_TEST_SUITE_P(Keys, LintRuleTest, testing::ValuesIn(KeyCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Tables, LintRuleTest, testing::ValuesIn(TableCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Instance, LintRuleTest, testing::ValuesIn(InstanceCases()), NameOf);

// L23 needs data, and so have all 35 their test.
TEST(LintTest, L23FindsALargeValueInTheData) {
  const std::string toml = TableText("{k}#{ts:ms}");
  LiveFacts live;
  live.tables["T"] = {10u << 20, "F:v"};
  EXPECT_THAT(OfRule(LintText(toml, &live), "L23"), IsEmpty());
  live.tables["T"].value_bytes += 1;
  const auto found = OfRule(LintText(toml, &live), "L23");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kWarn);
  EXPECT_THAT(found[0].detail, HasSubstr("\"F:v\""));
  live.tables["T"].value_bytes = (100u << 20) + 1;
  EXPECT_EQ(OfRule(LintText(toml, &live), "L23")[0].severity, Severity::kError);
}

TEST(LintTest, S45TheLinterOfTheSeeds) {
  EXPECT_THAT(RulesOf(TableText("{ts:ms}#{user}")), Contains("L1"));
  EXPECT_THAT(RulesOf(TableText("{ts}#{user}")), Contains("L1"));
  EXPECT_THAT(RulesOf(TableText("{ts:ms}")), Contains("L1"));
  EXPECT_THAT(RulesOf(TableText("BATTERY#{ts:ms}")), Contains("L2"));
  EXPECT_THAT(RulesOf(TableText("{device}#memusage")), Contains("L4"));
  const auto promoted = RulesOf(TableText("BATTERY#{user}#{ts:ms}"));
  EXPECT_THAT(promoted, Not(Contains("L1")));
  EXPECT_THAT(promoted, Not(Contains("L2")));
}

TEST(LintTest, S47APersonalFieldInAKeyIsWarnedOf) {
  const auto found = OfRule(
      LintText(TableText("BATTERY#{USER}#{ts:ms}", "fields.USER = { personal = true }")), "L11");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kWarn);
  EXPECT_EQ(found[0].table, "T");
}

TEST(LintTest, AnEventPatternWithoutATimeIsL35OrL18AndL4WhereUpdatesAreFrequent) {
  const std::string one = "families.F = { max_versions = 1 }";
  const std::string daily = "every = \"1d\"";
  const auto rules = RulesOf(TableText("{k}", daily, "single-timestamp", one));
  EXPECT_THAT(rules, testing::ElementsAre("L35"));
  EXPECT_THAT(RulesOf(TableText("{k}", daily, "new-cell", "families.F = { max_versions = 9 }")),
              testing::ElementsAre("L18"));
  EXPECT_THAT(RulesOf(TableText("{k}", "every = \"1s\"", "single-timestamp", one)),
              testing::ElementsAre("L4", "L35"));
}

TEST(LintTest, LatestAndAggregateTablesNeedNoTime) {
  EXPECT_THAT(RulesOf(TableText("{k}", "every = \"1s\"", "latest")), IsEmpty());
  EXPECT_THAT(RulesOf(Sum("T", "{charity}")), IsEmpty());
}

TEST(LintTest, ARowForEventsOfADayIsFoundWhereMoreThanOneComes) {
  const auto found = [](const std::string& stream) {
    return OfRule(LintText(TableText("{game}#{ts:day}", stream)), "L18");
  };
  EXPECT_THAT(found("every = \"1d\""), IsEmpty());
  EXPECT_EQ(found("every = \"1h\"").at(0).severity, Severity::kWarn);
  EXPECT_EQ(found("").at(0).severity, Severity::kInfo);
}

TEST(LintTest, ARowOfMoreThan256MiBIsAnError) {
  const auto of = [](const std::string& bucket) {
    return OfRule(LintText(TableText("{k}#{ts:" + bucket + "}", "every = \"1s\"\n" + Fields(30),
                                     "new-cell", "families.F = { max_age = \"3650d\" }")),
                  "L22");
  };
  // 30 fields at 9 bytes each second: 23 MB a day, 163 MB a week, 723 MB a month.
  EXPECT_THAT(of("day"), IsEmpty());
  EXPECT_EQ(of("week").at(0).severity, Severity::kWarn);
  EXPECT_EQ(of("month").at(0).severity, Severity::kError);
}

TEST(LintTest, ATimeOfVaryingWidthIsAnErrorOnlyWhereAQueryRangesOverIt) {
  const auto of = [](const std::string& stream) {
    return OfRule(LintText(TableText("{host}#{ts}", stream)), "L13").at(0).severity;
  };
  EXPECT_EQ(of(kByHost), Severity::kError);
  EXPECT_EQ(of("queries = [{ fields = [\"host\"], time = false }]"), Severity::kWarn);
  EXPECT_EQ(of(""), Severity::kWarn);
}

TEST(LintTest, NightlyTablesNeedKeepAndCountForEachDay) {
  EXPECT_EQ(OfRule(LintText(Nightly("")), "L27").size(), 1u);
  EXPECT_THAT(OfRule(LintText(Nightly(", keep = \"90d\"")), "L27"), IsEmpty());
  EXPECT_THAT(OfRule(LintText(Nightly(", keep = \"999d\"")), "L28"), IsEmpty());
  const auto found = OfRule(LintText(Nightly(", keep = \"1000d\"")), "L28");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].table, "");
  EXPECT_EQ(found[0].severity, Severity::kError);
}

TEST(LintTest, ATableForEachTenantIsFound) {
  EXPECT_EQ(
      OfRule(LintText(Twin("METRIC_acme") + Twin("METRIC_globex") + Twin("METRIC_initech")), "L27")
          .size(),
      1u);
}

TEST(LintTest, AQueryServedByAnotherTableOfTheStreamIsServed) {
  const std::string twice = TableText("{type}#{device}#{ts:ms}",
                                      "queries = [{ fields = [\"device\"] }, { fields = [], time = "
                                      "false }]");
  EXPECT_EQ(OfRule(LintText(twice), "L7").size(), 2u);
  const std::string latest =
      "[tables.L]\nstream = \"s\"\npattern = \"latest\"\nrow_key = \"{device}\"\nfamilies.F = {}\n";
  EXPECT_EQ(OfRule(LintText(twice + latest), "L7").size(), 1u) << "latest has no range of time";
  EXPECT_THAT(OfRule(LintText(twice + latest + Twin("BY", "{device}#{ts:ms}")), "L7"), IsEmpty());
}

TEST(LintTest, AQualifierOfMoreThan16KiBIsAnError) {
  const std::string name(16'385, 'q');
  const auto found =
      OfRule(LintText(TableText("{k}#{ts:ms}", "", "single-timestamp",
                                "families.F = {}\ncolumns = [{ family = \"F\", name = \"" + name +
                                    "\", value = \"{v}\" }]")),
             "L26");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_LT(found[0].detail.size(), 200u);
}

TEST(LintTest, WhatServeRefusesAndARuleCoversIsAFindingOfItsTable) {
  const std::string good = Twin("GOOD");
  for (const char* row_key :
       {"{a}{b}#{ts:ms}", "{k}#{ts:bucket(7m)}", "{k}%#{ts:ms}", "{k}#{ts:%Y%m%-d%H}"}) {
    const auto found = LintText(good + Twin("BAD", row_key));
    ASSERT_EQ(found.size(), 1u) << row_key;
    EXPECT_EQ(found[0].rule, "L14");
    EXPECT_EQ(found[0].table, "BAD");
    EXPECT_EQ(found[0].severity, Severity::kError);
  }
}

TEST(LintTest, AWidthThatNoKeyMayHaveIsL12) {
  const auto found = LintText(Twin("BAD", "{k:pad(5000)}#{ts:ms}"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "L12");
  EXPECT_EQ(found[0].table, "BAD");
}

TEST(LintTest, ATemplateWithoutAPlaceholderIsL21) {
  const auto found = LintText(Twin("BAD", "always"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "L21");
}

TEST(LintTest, TablesOfPeriodsNeedNoUnderscore) {
  EXPECT_EQ(OfRule(LintText(Twin("METRIC2023") + Twin("METRIC2024")), "L27").size(), 1u);
}

TEST(LintTest, ATimeOfAnotherFieldThanTheTablesIsFound) {
  const auto count = [](const std::string& more, const std::string& pattern,
                        const std::string& row_key) {
    const std::string text = "[tables.T]\nstream = \"s\"\npattern = \"" + pattern +
                             "\"\nrow_key = \"" + row_key + "\"\nfamilies.F = {}\n" + more;
    return OfRule(LintText(text), "time").size();
  };
  const std::string declared = "[streams.s]\ntime = \"ts\"\n";
  EXPECT_EQ(count(declared, "single-timestamp", "{k}#{at:ms}"), 1u);
  EXPECT_EQ(count("time = \"ts\"\n", "single-timestamp", "{k}#{at:ms}"), 1u);
  EXPECT_EQ(count("", "latest", "{k}#{at:day}"), 1u);
  EXPECT_EQ(count("time = \"at\"\n", "single-timestamp", "{k}#{at:ms}"), 0u);
  EXPECT_EQ(count(declared, "single-timestamp", "{k}#{at:day}#{ts:ms}"), 0u);
  EXPECT_EQ(count("", "latest", "{k}"), 0u);
}

TEST(LintTest, ATimeThatNobodyDeclaresIsTheSameRule) {
  const Result<LenientConfig> config = ParseConfigLeniently(
      "[tables.T]\npattern = \"single-timestamp\"\nrow_key = \"{k}#{at:ms}\"\nfamilies.F = {}\n",
      "t.toml");
  ASSERT_TRUE(config) << config.error().message();
  ASSERT_EQ(config->ruled.size(), 1u);
  EXPECT_EQ(config->ruled[0].rule, kTimeRule);
  EXPECT_EQ(config->ruled[0].table, "T");
}

TEST(LintTest, OtherMistakesStopIt) {
  EXPECT_FALSE(ParseConfigLeniently(Twin("A", "{a}{b}") + "nothing = 1\n", "t.toml"));
  EXPECT_FALSE(ParseConfigLeniently(Twin("A", "{a:zero(x)}"), "t.toml"));
  EXPECT_FALSE(ParseConfigLeniently("[tables", "t.toml"));
  EXPECT_FALSE(ParseConfig(Twin("A", "{a}{b}"), "t.toml")) << "serve is as strict as ever";
}

TEST(LintTest, ValuesOfFieldsAreJudgedWhereTheDataTells) {
  const std::string toml = TableText("{id}#{ts:ms}", "fields.id = { domain = true }");
  LiveFacts live;
  live.fields["s"]["id"].looks_like_hash = true;
  EXPECT_EQ(OfRule(LintText(toml, &live), "L5").size(), 1u);
  live.fields["s"]["id"].looks_sequential = true;
  EXPECT_EQ(OfRule(LintText(toml, &live), "L3").size(), 1u);
  live.fields["s"]["id"].distinct = 2;
  EXPECT_EQ(OfRule(LintText(toml, &live), "L10").size(), 1u);
  live.fields["s"]["id"].is_bytes = true;
  EXPECT_EQ(OfRule(LintText(toml, &live), "L6").size(), 1u);
}

std::string InputsFound(const std::string& toml, const LiveFacts* live = nullptr) {
  std::string details;
  for (const LintFinding& finding : OfRule(LintText(toml, live), "L33")) {
    EXPECT_EQ(finding.severity, Severity::kError);
    details += finding.detail + "\n";
  }
  return details;
}

TEST(LintTest, AFieldThatTheFileMakesTextIsNoInputOfASum) {
  const std::string domain = "[streams.s]\nfields.host = { domain = true }\n";
  EXPECT_EQ(InputsFound(domain + Sum("T", "{shop}")),
            "field \"host\" is declared a domain, which is text, and family \"F\" of sum takes an "
            "int64 (a whole number): an event that has it is refused\n");
  EXPECT_EQ(InputsFound(domain + Sum("T", "{host}")), "") << "it stands in the key";
  EXPECT_EQ(InputsFound(domain +
                        Sum("T", "{shop}", "columns = [{ family = \"F\", fields = [\"v\"] }]\n")),
            "");
  const std::string labels = "[streams.s]\nlabels = [\"host\"]\n";
  EXPECT_THAT(InputsFound(labels + Sum("T", "{shop}")), HasSubstr("\"host\" is listed as a label"));
  EXPECT_EQ(InputsFound(labels + Sum("T", "{labels}")), "") << "the key holds it";
}

TEST(LintTest, AFieldThatWasNeverANumberIsNoInputOfASum) {
  const std::string toml = Sum("T", "{shop}");
  LiveFacts live;
  LiveField& host = live.fields["s"]["host"];
  EXPECT_EQ(InputsFound(toml, &live), "") << "nobody knows what it was";
  host.is_float = host.is_text = true;
  EXPECT_THAT(InputsFound(toml, &live), HasSubstr("\"host\" has only ever been float64, string"));
  host.is_integer = true;
  EXPECT_EQ(InputsFound(toml, &live), "") << "some of its values are taken";
  live.fields["s"]["shop"].is_text = true;
  EXPECT_EQ(InputsFound(toml, &live), "") << "it stands in the key";
}

TEST(LintTest, AnInputOfAPerEventRuleIsTheFieldThatItNames) {
  const std::string toml =
      Sum("T", "{shop}", "columns = [{ family = \"F\", name = \"n\", value = \"{amount}\" }]\n");
  LiveFacts live;
  live.fields["s"]["amount"].is_text = true;
  live.fields["s"]["other"].is_text = true;
  EXPECT_THAT(InputsFound(toml, &live), HasSubstr("\"amount\" has only ever been string"));
  EXPECT_THAT(InputsFound(toml, &live), Not(HasSubstr("other")));
}

TEST(LintTest, ANumberIsNoInputOfASketch) {
  const std::string toml =
      "[tables.T]\nstream = \"s\"\npattern = \"aggregate\"\nrow_key = \"{shop}\"\n"
      "families.F = { aggregate = \"hll\" }\n";
  LiveFacts live;
  live.fields["s"]["v"].is_integer = true;
  EXPECT_THAT(InputsFound(toml, &live), HasSubstr("\"v\" has only ever been int64"));
  live.fields["s"]["v"].is_text = true;
  EXPECT_EQ(InputsFound(toml, &live), "");
}

TEST(LintTest, TheExampleHasNoErrors) {
  const Result<Config> config = LoadConfig(TALLYD_SOURCE_DIR "/config/example.toml");
  ASSERT_TRUE(config);
  for (const LintFinding& finding : Lint(*config->schema, ScopeFieldsOf(config->tokens))) {
    EXPECT_NE(finding.severity, Severity::kError) << finding.rule << " " << finding.detail;
  }
}

}  // namespace
}  // namespace tallyd
