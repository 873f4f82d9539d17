// Which rules make up for one that is taken out of a table.
#include "config/schema/gone_rule.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tallyd {
namespace {

ColumnRule PerField(std::vector<std::string> fields, const std::string& name = "{field}") {
  ColumnRule rule;
  rule.family = "F";
  rule.fields = std::move(fields);
  rule.name = *ValueTemplate::Parse(name, "ts");
  rule.value = *ValueTemplate::Parse("{value}", "ts");
  return rule;
}

ColumnRule PerEvent(const std::string& value) {
  ColumnRule rule = PerField({}, "c");
  rule.per_field = false;
  rule.value = *ValueTemplate::Parse(value, "ts");
  return rule;
}

Table TableOf(std::vector<ColumnRule> rules) {
  Table table;
  table.name = "T";
  table.time_field = "ts";
  table.row_key = *RowKeyTemplate::Parse("{host}#{ts:ms}", "ts");
  table.columns = std::move(rules);
  return table;
}

bool Enters(const ColumnRule& gone, std::vector<ColumnRule> rules) {
  return EntersWithout(gone, TableOf(std::move(rules)));
}

// The first of the rules keeps what it kept.
bool Keeps(const ColumnRule& gone, const std::vector<ColumnRule>& rules) {
  return KeepsWithout(gone, rules[0], TableOf(rules));
}

TEST(GoneRule, IsReadFromItsCanonicalText) {
  ColumnRule rule = PerField({"b rename", "a*"}, "{field}:{id}");
  rule.compact_names = true;
  rule.rename = {{"x", "1:y"}};
  ColumnRule blob = PerField({}, "b");
  blob.serialize = Serialization::kCbor;
  for (const ColumnRule& each : {rule, blob, PerEvent("{n}|{x}"), PerEvent("")}) {
    const std::string text = CanonicalText(each);
    const auto read = FromCanonicalText(text, "ts");
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(CanonicalText(*read), text);
    for (size_t size = 0; size < text.size(); ++size) {
      const auto part = FromCanonicalText(std::string_view(text).substr(0, size), "ts");
      EXPECT_TRUE(!part || CanonicalText(*part) != text) << size;
    }
  }
}

TEST(GoneRule, LeavesItsEventsToThoseThatTakeItsFields) {
  EXPECT_TRUE(Enters(PerField({"x", "y*"}), {PerField({})}));
  EXPECT_TRUE(Enters(PerField({"x", "y*"}), {PerField({"x"}), PerField({"y*"})}));
  EXPECT_TRUE(Enters(PerEvent("{n}|{x}"), {PerField({"x"})}));
  EXPECT_TRUE(Enters(PerField({}, "{field}:{id}"), {PerField({})}));
  EXPECT_TRUE(Enters(PerEvent("{n}|{x}"), {PerEvent("{x}")}));
  EXPECT_FALSE(Enters(PerField({}), {PerField({"x"})}));
  EXPECT_FALSE(Enters(PerField({"x"}), {PerField({}, "{field}:{id}")}));
  EXPECT_FALSE(Enters(PerField({"host"}), {PerField({})})) << "none takes a key's field by default";
  EXPECT_FALSE(Enters(PerEvent("{ts:%H}"), {PerField({})})) << "it needs nothing";
}

TEST(GoneRule, LeavesItsFieldsToThoseThatNeedNoMore) {
  EXPECT_TRUE(Keeps(PerField({}), {PerField({"x"})}));
  EXPECT_TRUE(Keeps(PerField({}), {PerEvent("{x}")}));
  EXPECT_TRUE(Keeps(PerField({"m"}), {PerEvent("{n}|{x}")}));
  EXPECT_TRUE(Keeps(PerField({"x"}), {PerEvent("{n}|{x}"), PerField({})}));
  EXPECT_TRUE(Keeps(PerEvent("{n}|{x}"), {PerEvent("{x}|{n}")}));
  EXPECT_FALSE(Keeps(PerField({"x"}), {PerEvent("{n}|{x}")}));
  EXPECT_FALSE(Keeps(PerField({}), {PerField({"x"}, "{field}:{id}")}));
  EXPECT_FALSE(Keeps(PerEvent("{x}"), {PerField({}, "{field}:{id}")}));
}

}  // namespace
}  // namespace tallyd
