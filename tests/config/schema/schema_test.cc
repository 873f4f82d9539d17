#include "config/schema/schema.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(SchemaTest, CompactNamesAreCapitalsWithoutSpaces) {
  EXPECT_EQ(CompactName("Bid size"), "BIDSIZE");
  EXPECT_EQ(CompactName("CPU/cpu1_usr"), "CPU/CPU1_USR");
  EXPECT_EQ(CompactName("Círculo"), "CíRCULO");
  EXPECT_EQ(CompactName(""), "");
}

TEST(SchemaTest, FindsFamiliesByName) {
  Table table;
  table.families.resize(2);
  table.families[0].name = "A";
  table.families[1].name = "B";
  EXPECT_EQ(table.FindFamily("B")->name, "B");
  EXPECT_EQ(table.FindFamily("C"), nullptr);
  EXPECT_EQ(table.FamilyIndex("B"), 1);
  EXPECT_EQ(table.FamilyIndex("C"), -1);
}

ColumnRule Rule(const std::string& name, std::vector<std::string> fields = {}) {
  ColumnRule rule;
  rule.family = "F";
  rule.name = *ValueTemplate::Parse(name, "ts");
  rule.fields = std::move(fields);
  return rule;
}

TEST(SchemaTest, ARuleHasOneTextInWhateverOrderItIsWritten) {
  ColumnRule rule = Rule("{field}", {"a", "b"});
  rule.rename = {{"a", "x"}, {"b", "y"}};
  ColumnRule same = Rule("{field}", {"b", "a"});
  same.rename = {{"b", "y"}, {"a", "x"}};
  EXPECT_EQ(CanonicalText(rule), CanonicalText(same));
  same.rename = {{"b", "x"}, {"a", "y"}};
  EXPECT_NE(CanonicalText(rule), CanonicalText(same));
  for (const ColumnRule& other :
       {Rule("{field}"), Rule("{field}", {"ab"}), Rule("c", {"a", "b"}), Rule("{field}", {"a"})}) {
    EXPECT_NE(CanonicalText(rule), CanonicalText(other));
  }
  ColumnRule compact = Rule("{field}");
  compact.compact_names = true;
  ColumnRule blob = Rule("{field}");
  blob.serialize = Serialization::kCbor;
  EXPECT_NE(CanonicalText(compact), CanonicalText(Rule("{field}")));
  EXPECT_NE(CanonicalText(blob), CanonicalText(Rule("{field}")));
}

TEST(SchemaTest, RulesShareColumnsWhereOneCouldBeReadForTheOther) {
  const ColumnRule all = Rule("{field}");
  EXPECT_TRUE(MayShareColumns(all, Rule("c", {"a"})));
  EXPECT_FALSE(MayShareColumns(Rule("{field}", {"a", "CPU/*"}), Rule("c", {"a"})));
  EXPECT_TRUE(MayShareColumns(Rule("{field}", {"a", "CPU/*"}), Rule("CPU/x", {"a"})));
  EXPECT_FALSE(MayShareColumns(Rule("b"), Rule("c")));
  EXPECT_TRUE(MayShareColumns(Rule("c"), Rule("c")));
  EXPECT_FALSE(MayShareColumns(Rule("{field}", {"a"}), Rule("{field}", {"b"})));
  EXPECT_TRUE(MayShareColumns(Rule("{value}", {"a"}), Rule("{value}", {"b"})));
  EXPECT_FALSE(MayShareColumns(Rule("{ts:%H%M}"), Rule("ID")));
  EXPECT_TRUE(MayShareColumns(Rule("{ts:%H%M}"), Rule("0015")));
  ColumnRule renamed = Rule("{field}", {"b"});
  renamed.rename = {{"b", "a"}};
  EXPECT_TRUE(MayShareColumns(renamed, Rule("{field}", {"a"})));
  ColumnRule elsewhere = Rule("c");
  elsewhere.family = "G";
  EXPECT_FALSE(MayShareColumns(all, elsewhere));
}

TEST(FamilyTest, AnAgeCountsAloneUnlessVersionsMustBeSurplusToo) {
  Family family;
  EXPECT_FALSE(AgeAlone(family));
  family.max_versions = 3;
  EXPECT_FALSE(AgeAlone(family));
  family.max_age_us = 7;
  EXPECT_EQ(AgeAlone(family), 7) << "either is enough";
  family.expire_by_both = true;
  EXPECT_FALSE(AgeAlone(family));
  family.max_versions.reset();
  EXPECT_EQ(AgeAlone(family), 7) << "there is nothing else to wait for";
}

}  // namespace
}  // namespace tallyd
