#include "config/schema/table_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "config/file/config.h"

namespace tallyd {
namespace {

using ::testing::ElementsAre;

// The only table of a configuration, kept alive with its schema.
class TableRulesTest : public testing::Test {
 protected:
  const Table& Make(const std::string& row_key, const std::string& columns = "",
                    const std::string& pattern = "single-timestamp") {
    std::string text = "[tables.T]\nstream = \"s\"\npattern = \"" + pattern + "\"\nrow_key = \"" +
                       row_key + "\"\nfamilies.f = {}\n";
    if (!columns.empty()) text += "families.g = {}\ncolumns = [" + columns + "]\n";
    Result<Config> config = ParseConfig(text, "test.toml");
    if (!config) throw std::runtime_error(config.error().message());
    schema_ = config->schema;
    return schema_->tables[0];
  }

 private:
  std::shared_ptr<const Schema> schema_;
};

TEST_F(TableRulesTest, AKeyGivesBackWhatItWritesWhole) {
  const Table& table =
      Make("{k}#{n:zero(4)}#{d:reverse_domain}#{s:salt(3)}#{other:day}#{ts}#{field}#{ts:ms}");
  for (const char* held : {"k", "n", "d"}) EXPECT_TRUE(KeyHolds(table, held)) << held;
  for (const char* lost : {"s", "other", "ts", "field", "x"}) {
    EXPECT_FALSE(KeyHolds(table, lost)) << lost;
  }
  EXPECT_THAT(table.row_key.entity_fields(), ElementsAre("k", "n", "d"));
}

TEST_F(TableRulesTest, WhatTheKeyDoesNotGiveBackIsMeasured) {
  const Table& table = Make("{k}#{s:salt(3)}#{other:day}#{ts:ms}");
  for (const char* taken : {"s", "other", "x"}) {
    EXPECT_TRUE(RuleTakes(table, table.columns[0], taken)) << taken;
    EXPECT_EQ(GivenBack(table, taken), Fidelity::kTyped) << taken;
  }
  for (const char* not_taken : {"k", "ts"}) {
    EXPECT_FALSE(RuleTakes(table, table.columns[0], not_taken)) << not_taken;
  }
  EXPECT_EQ(GivenBack(table, "k"), Fidelity::kText);
  EXPECT_EQ(GivenBack(table, "ts"), Fidelity::kNone);
}

TEST_F(TableRulesTest, ASecondTimeOfTheKeyMayBeRenamed) {
  const Table& table =
      Make("{k}#{other:day}#{ts:ms}", "{ family = \"f\", rename = { other = \"O\" } }");
  EXPECT_EQ(*RenamedTo(table.columns[0], "other"), "O");
}

TEST_F(TableRulesTest, AFieldThatIsNamedIsTakenWhateverItIs) {
  const Table& table =
      Make("{k}#{ts:ms}", "{ family = \"f\", fields = [\"k\", \"ts\", \"k?\", \"CPU/*\"] }");
  for (const char* taken : {"k", "ts", "k1", "CPU/1"}) {
    EXPECT_TRUE(RuleTakes(table, table.columns[0], taken)) << taken;
    EXPECT_EQ(GivenBack(table, taken), Fidelity::kTyped) << taken;
  }
  EXPECT_FALSE(RuleTakes(table, table.columns[0], "IO"));
}

TEST_F(TableRulesTest, ARuleNeedsWhatItsTemplatesNameAndNotEveryEventHas) {
  const Table& table = Make("{k}#{ts:ms}",
                            "{ family = \"f\", name = \"{field}:{id}:{k}\" },"
                            "{ family = \"g\", name = \"{ts:%H}\", value = \"{a}|{b}\" }");
  EXPECT_THAT(NeededBy(table, table.columns[0]), ElementsAre("id"));
  EXPECT_THAT(NeededBy(table, table.columns[1]), ElementsAre("a", "b"));
}

TEST_F(TableRulesTest, WhatOnlyRulesThatNeedMoreKeepTrulyMayComeAsText) {
  const std::string text = "{ family = \"f\", fields = [\"x\"], value = \"v={value}\" },";
  const Table& with_id = Make("{k}#{ts:ms}", text + "{ family = \"g\", name = \"{field}:{id}\" }");
  EXPECT_EQ(GivenBack(with_id, "x"), Fidelity::kTyped);
  EXPECT_TRUE(MayComeAsText(with_id, "x"));
  EXPECT_TRUE(MayComeAsText(with_id, "k"));
  EXPECT_FALSE(MayComeAsText(with_id, "y")) << "it does not come without id";
  const Table& alone =
      Make("{k}#{ts:ms}", text + "{ family = \"g\", name = \"c\", value = \"{x}\" }");
  EXPECT_FALSE(MayComeAsText(alone, "x"));
}

TEST_F(TableRulesTest, ARuleOfTheWholeEventTakesNoFieldButGivesBackWhatItSpells) {
  const Table& table = Make("{k}#{ts:day}",
                            "{ family = \"f\", name = \"{ts:%H%M}-{b}\", value = \"{v}\" },"
                            "{ family = \"f\", name = \"x-{c}\", value = \"{d}/{e:salt(2)}\" }",
                            "new-column");
  for (const char* typed : {"v"}) EXPECT_EQ(GivenBack(table, typed), Fidelity::kTyped) << typed;
  for (const char* text : {"b", "c", "d"}) EXPECT_EQ(GivenBack(table, text), Fidelity::kText);
  for (const char* lost : {"ts", "e", "x"}) EXPECT_FALSE(TableHolds(table, lost)) << lost;
  EXPECT_FALSE(AnyRuleTakes(table, "v"));
}

TEST_F(TableRulesTest, AReadingIsHeldWhereSomethingTellsItsField) {
  EXPECT_FALSE(TableHolds(Make("{k}#{ts:day}", "", "new-column"), "p"));
  EXPECT_EQ(GivenBack(Make("{k}#{field}#{ts:day}", "", "new-column"), "p"), Fidelity::kText);
  EXPECT_FALSE(TableHolds(Make("{k}#{field:salt(3)}#{ts:day}", "", "new-column"), "p"));
  EXPECT_TRUE(
      TableHolds(Make("{k}#{ts:day}", "{ family = \"f\", fields = [\"p\"] }", "new-column"), "p"));
}

TEST_F(TableRulesTest, SerializedFieldsKeepTheirTypes) {
  const Table& table = Make("{k}#{ts:ms}", "{ family = \"f\", serialize = \"cbor\" }");
  EXPECT_EQ(GivenBack(table, "v"), Fidelity::kTyped);
  EXPECT_EQ(GivenBack(table, "k"), Fidelity::kText);
}

TEST_F(TableRulesTest, EverySpellingOfACompactNameIsTheOneSeenLast) {
  const Table& table = Make("{K}#{ts:ms}",
                            "{ family = \"f\", names = \"compact\", "
                            "fields = [\"B*\", \"Last sale\", \"K\"] }");
  const Spellings seen = {"Last sale", "k", "K", "BID", "Bid"};
  for (const char* name : {"BID", "Bid", "bid"}) EXPECT_EQ(SpellingIn(table, name, seen), "Bid");
  EXPECT_EQ(SpellingIn(table, "LASTSALE", seen), "Last sale");
  EXPECT_EQ(SpellingIn(table, "K", seen), "K");
  EXPECT_EQ(SpellingIn(table, "other", seen), "other");
  const Table& as_sent = Make("{k}#{ts:ms}");
  EXPECT_EQ(SpellingIn(as_sent, "BID", seen), "BID");
}

TEST_F(TableRulesTest, TheFieldsThatATableNamesAreThoseOfItsTemplatesAndLists) {
  const Table& table =
      Make("{value}#{s:salt(2)}#{field}#{ts:ms}",
           "{ family = \"f\", fields = [\"a\", \"b*\"], name = \"{field}\", value = \"{value}\" },"
           "{ family = \"f\", fields = [\"c\"], name = \"{field}-{d}\", rename = { c = \"C\" } }");
  EXPECT_THAT(FieldsNamedBy(table), ElementsAre("a", "c", "d", "s", "ts", "value"));
}

}  // namespace
}  // namespace tallyd
