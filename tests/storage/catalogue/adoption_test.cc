// From when on a table holds what its rules take, as adopting one schema after another leaves it.
#include "storage/catalogue/adoption.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class AdoptionTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override { Open(); }

  static ColumnRule Rule(const std::string& name, std::vector<std::string> fields = {}) {
    ColumnRule rule;
    rule.family = "A";
    rule.fields = std::move(fields);
    rule.name = *ValueTemplate::Parse(name, "ts");
    rule.value = *ValueTemplate::Parse("{value}", "ts");
    return rule;
  }
  static Table TableOf(const std::string& name, std::vector<ColumnRule> rules = {Rule("{field}")}) {
    Table table = MakeTable(name);
    table.time_field = "ts";
    table.row_key = *RowKeyTemplate::Parse("{a}#{ts:day}", "ts");
    table.columns = std::move(rules);
    return table;
  }
  void Use(std::vector<Table> tables) { ASSERT_TRUE(Adopt(MakeSchema(std::move(tables)))); }
  // An event at that time in the table.
  void Take(const std::string& table, TimeUs time) {
    ASSERT_TRUE(Write(table, "r", time, {{"A", "x", Value::Int(1)}}));
  }
  TimeUs Member(const std::string& table) { return Find(table)->membership.whole_from; }
  TimeUs OfRule(const std::string& table, size_t rule) {
    return Find(table)->rules.at(rule).whole_from;
  }
  // Of those that entered by any rule.
  TimeUs OfEvents(const std::string& table) {
    const TablePtr found = Find(table);
    for (const RuleMark& mark : found->rules) {
      if (mark.rule.empty() && mark.away_since == 0) return mark.whole_from;
    }
    return 0;
  }
};

TEST_F(AdoptionTest, TheFirstTablesOfAStreamAreWhole) {
  Use({TableOf("T"), TableOf("U")});
  EXPECT_EQ(Member("T"), 0);
  EXPECT_EQ(OfRule("U", 0), 0);
  Take("T", 50);
  Reopen();
  EXPECT_EQ(Member("T"), 0);
}

TEST_F(AdoptionTest, ATableThatJoinsAStreamIsWholeFromBehindItsHistoryOn) {
  Use({TableOf("T")});
  Take("T", 50);
  Take("T", 40);
  Use({TableOf("T"), TableOf("U")});
  EXPECT_EQ(Member("T"), 0);
  EXPECT_EQ(Member("U"), 51);
  EXPECT_GT(Find("U")->membership.since, 0u);
}

TEST_F(AdoptionTest, WhereTablesGoByDifferentTimesNothingIsCertain) {
  Use({TableOf("T")});
  Take("T", 50);
  Table other = TableOf("U");
  other.time_field = "other";
  Use({TableOf("T"), other});
  EXPECT_EQ(Member("U"), kNeverWhole);
}

TEST_F(AdoptionTest, ARuleThatChangesIsWholeFromBehindTheHistoryOnAndOthersStay) {
  const ColumnRule first = Rule("{field}", {"x"});
  Use({TableOf("T", {first, Rule("{field}", {"y"})})});
  Take("T", 50);
  ColumnRule renamed = Rule("{field}", {"y"});
  renamed.rename = {{"y", "z"}};
  Use({TableOf("T", {renamed, first})});
  EXPECT_EQ(OfRule("T", 0), 51);
  EXPECT_EQ(OfRule("T", 1), 0);
  EXPECT_EQ(Member("T"), 0);
}

TEST_F(AdoptionTest, ARuleWhoseColumnsANewOneMayClaimIsNotWholeEither) {
  Use({TableOf("T", {Rule("{field}")})});
  Take("T", 50);
  Use({TableOf("T", {Rule("{field}"), Rule("x", {"y"})})});
  EXPECT_EQ(OfRule("T", 0), 51);
}

TEST_F(AdoptionTest, ARuleThatGoesLeavesItsFieldsToTheRulesThatTakeThemAll) {
  const ColumnRule beside = Rule("{field}:{id}");
  Use({TableOf("T", {Rule("{field}", {"x"}), beside, Rule("{field}", {"y"})})});
  Take("T", 50);
  Use({TableOf("T", {beside, Rule("{field}", {"y"})})});
  EXPECT_EQ(OfRule("T", 0), 51) << "events with x and without id had been whole";
  EXPECT_EQ(OfRule("T", 1), 0);
  Use({TableOf("T", {Rule("{field}", {"x"}), beside, Rule("{field}", {"y"})})});
  EXPECT_EQ(OfRule("T", 1), 0) << "it is back, as if nothing had been";
  EXPECT_EQ(OfEvents("T"), 0);
  Use({TableOf("T", {Rule("{field}", {"x"}), Rule("{field}", {"y"})})});
  EXPECT_EQ(OfRule("T", 0), 0);
  EXPECT_EQ(OfRule("T", 1), 0);
}

TEST_F(AdoptionTest, EventsThatEnteredByARuleThatWentAreMissing) {
  Use({TableOf("T", {Rule("{field}"), Rule("{field}", {"x"})})});
  Take("T", 50);
  Use({TableOf("T", {Rule("{field}")})});
  EXPECT_EQ(OfEvents("T"), 0) << "those with x enter by the other rule, too";
  Use({TableOf("T", {Rule("{field}", {"x"})})});
  EXPECT_EQ(OfRule("T", 0), 0);
  EXPECT_EQ(OfEvents("T"), 51);
  Take("T", 60);
  Use({TableOf("T", {Rule("{field}", {"x"}), Rule("{field}", {"y"})})});
  EXPECT_EQ(OfEvents("T"), 51);
  Reopen();
  EXPECT_EQ(OfEvents("T"), 51);
  Use({});
  Use({TableOf("T", {Rule("{field}", {"x"}), Rule("{field}", {"y"})})});
  EXPECT_EQ(OfEvents("T"), 51);
}

TEST_F(AdoptionTest, WhatIsTakenBackBeforeAnythingHappensHasNotHappened) {
  Use({TableOf("T", {Rule("{field}", {"x"})}), TableOf("U")});
  Take("T", 50);
  Use({TableOf("T", {Rule("{field}", {"y"})})});
  Use({TableOf("T", {Rule("{field}", {"x"})}), TableOf("U")});
  EXPECT_EQ(OfRule("T", 0), 0);
  EXPECT_EQ(Member("U"), 0);
  Use({TableOf("T", {Rule("{field}", {"y"})})});
  Take("T", 60);
  Use({TableOf("T", {Rule("{field}", {"x"})}), TableOf("U")});
  EXPECT_EQ(OfRule("T", 0), 61);
  EXPECT_EQ(Member("U"), 61);
}

TEST_F(AdoptionTest, AWhenThatAsksForMoreKeepsTheTableWhole) {
  Table table = TableOf("T");
  table.when = {"b"};
  Use({table});
  Take("T", 50);
  table.when = {"c", "b"};
  Use({table});
  EXPECT_EQ(Member("T"), 0);
  table.when = {"c"};
  Use({table});
  EXPECT_EQ(Member("T"), 51);
}

TEST_F(AdoptionTest, AWhenThatAsksForWhatTheKeyNeedsAsksForNothing) {
  Table table = TableOf("T");
  table.when = {"a", "b"};
  Use({table});
  Take("T", 50);
  table.when = {"b"};
  Use({table});
  EXPECT_EQ(Member("T"), 0);
}

TEST_F(AdoptionTest, AFamilyThatIsToKeepMoreHasForgotten) {
  clock.now = 1000;
  Table table = TableOf("T");
  table.families[0].max_age_us = 100;
  Use({table});
  Take("T", 990);
  auto batch = NewBatch();
  batch->AddField("s", "x", 2);
  ASSERT_TRUE(Commit(std::move(batch)));
  table.families[0].max_age_us = 300;
  Use({table});
  EXPECT_EQ(Find("T")->families[0].whole_from, 900);
  table.families[0].max_age_us = 200;
  table.families[1].max_versions = 2;
  Use({table});
  EXPECT_EQ(Find("T")->families[0].whole_from, 900);
  EXPECT_EQ(Find("T")->families[1].whole_from, 0);
  table.families[1].max_versions.reset();
  Use({table});
  EXPECT_EQ(Find("T")->families[1].whole_from, 991);
}

TEST_F(AdoptionTest, ABatchOfTheSchemaBeforeIsMissingInWhatIsNewer) {
  Use({TableOf("T")});
  auto batch = NewBatch();
  Put(batch.get(), "T", "r", 50, {{"A", "x", Value::Int(1)}});
  Use({TableOf("T"), TableOf("U")});
  EXPECT_EQ(Member("U"), 0);
  ASSERT_TRUE(Commit(std::move(batch)));
  EXPECT_EQ(Member("T"), 0);
  EXPECT_EQ(Member("U"), 51);
  Reopen();
  EXPECT_EQ(Member("U"), 51);
  Take("T", 60);
  EXPECT_EQ(Member("U"), 51) << "a batch of this schema is not";
}

TEST_F(AdoptionTest, ABatchOfTheSchemaBeforeIsMissingInATableThatIsBack) {
  const Table latest = MakeTable("L", Pattern::kLatest);
  Use({TableOf("T"), TableOf("U"), latest});
  Use({TableOf("T")});
  auto batch = NewBatch();
  Put(batch.get(), "T", "r", 50, {{"A", "x", Value::Int(1)}});
  Use({TableOf("T"), TableOf("U"), latest});
  EXPECT_EQ(Member("U"), 0) << "the stream took nothing meanwhile";
  ASSERT_TRUE(Commit(std::move(batch)));
  EXPECT_EQ(Member("T"), 0);
  EXPECT_GT(Member("U"), 50);
  EXPECT_GT(Member("L"), 50);
  Reopen();
  EXPECT_GT(Member("U"), 50);
  EXPECT_GT(Member("L"), 50);
}

TEST_F(AdoptionTest, ABatchOfTheSchemaBeforeIsMissingInARuleThatIsBack) {
  const ColumnRule stays = Rule("{field}", {"x"});
  const ColumnRule goes = Rule("{field}", {"y"});
  Use({TableOf("T", {stays, goes})});
  Use({TableOf("T", {stays})});
  auto batch = NewBatch();
  Put(batch.get(), "T", "r", 50, {{"A", "x", Value::Int(1)}});
  Use({TableOf("T", {stays, goes})});
  EXPECT_EQ(OfRule("T", 1), 0) << "the stream took nothing meanwhile";
  ASSERT_TRUE(Commit(std::move(batch)));
  EXPECT_EQ(OfRule("T", 0), 0);
  EXPECT_EQ(OfRule("T", 1), 51);
  Reopen();
  EXPECT_EQ(OfRule("T", 1), 51);
}

TEST_F(AdoptionTest, AFilledTableIsWholeAndStaysSo) {
  Use({TableOf("T")});
  Take("T", 50);
  Use({TableOf("T"), TableOf("U")});
  const TablePtr seen = Find("U");
  ASSERT_TRUE(store().SetWhole(*seen, 0));
  EXPECT_EQ(Member("U"), 0);
  EXPECT_EQ(OfRule("U", 0), 0);
  Reopen();
  EXPECT_EQ(Member("U"), 0);
  EXPECT_TRUE(store().SetWhole(*Find("U"), 0)) << "as they are";
  EXPECT_FALSE(store().SetWhole(*seen, 0)) << "they are others";
}

TEST_F(AdoptionTest, ATableMayBeFilledFromSomeTimeOnOnly) {
  Use({TableOf("T")});
  Take("T", 50);
  Use({TableOf("T"), TableOf("U")});
  ASSERT_TRUE(store().SetWhole(*Find("U"), 20));
  EXPECT_EQ(Member("U"), 20);
  EXPECT_EQ(Member("T"), 0);
}

TEST_F(AdoptionTest, WhatComesOfABatchMadeBeforeMakesAnotherMark) {
  Use({TableOf("T")});
  Take("T", 50);
  auto batch = NewBatch();
  Put(batch.get(), "T", "r", 30, {{"A", "x", Value::Int(2)}});
  Use({TableOf("T"), TableOf("U")});
  const TablePtr seen = Find("U");
  ASSERT_TRUE(Commit(std::move(batch)));
  EXPECT_EQ(Member("U"), 51);
  EXPECT_GT(Find("U")->membership.since, seen->membership.since);
  EXPECT_FALSE(store().SetWhole(*seen, 0)) << "who filled it may have missed that";
}

TEST_F(AdoptionTest, ARuleThatWentIsRememberedForItsCells) {
  const auto remembers = [&](const ColumnRule& rule) {
    const TablePtr table = Find("T");
    return std::ranges::any_of(table->rules, [&](const RuleMark& mark) {
      return mark.rule == CanonicalText(rule) && mark.away_since > 0;
    });
  };
  Use({TableOf("T", {Rule("{field}")})});
  Take("T", 50);
  Use({TableOf("T", {Rule("x_{field}")})});
  Take("T", 60);
  Use({TableOf("T", {Rule("y_{field}")})});
  Take("T", 70);
  Use({TableOf("T", {Rule("z_{field}")})});
  EXPECT_TRUE(remembers(Rule("{field}")));
  EXPECT_TRUE(remembers(Rule("x_{field}")));
  EXPECT_TRUE(remembers(Rule("y_{field}")));
  Use({TableOf("T", {Rule("{field}")})});
  EXPECT_GT(OfRule("T", 0), 0) << "it does not come back as if nothing had been";
}

}  // namespace
}  // namespace tallyd
