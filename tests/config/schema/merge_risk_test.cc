#include "config/schema/merge_risk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "config/file/config.h"

namespace tallyd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MergeRiskTest : public testing::Test {
 protected:
  void Load(const std::string& text) {
    Result<Config> config = ParseConfig(text, "test.toml");
    if (!config) throw std::runtime_error(config.error().message());
    schema_ = config->schema;
  }
  static std::string TableText(const std::string& name, const std::string& row_key,
                               const std::string& more = "") {
    return "[tables." + name + "]\nstream = \"s\"\npattern = \"single-timestamp\"\nrow_key = \"" +
           row_key + "\"\nfamilies.f = {}\n" + more + "\n";
  }
  MergeRisk RiskOf(const std::string& table) {
    return MergeRiskOf(*schema_, *schema_->FindTable(table));
  }

  std::shared_ptr<const Schema> schema_;
};

TEST_F(MergeRiskTest, AFieldOfAnotherTablesKeyTellsEventsApart) {
  Load(TableText("A", "{host}#{ts:ms}") + TableText("B", "{host}#{sensor}#{ts:ms}"));
  const MergeRisk::Kept sensor{"sensor", "f", "sensor"};
  EXPECT_THAT(RiskOf("A").kept, ElementsAre(sensor));
  EXPECT_THAT(RiskOf("A").untold, IsEmpty());
  EXPECT_FALSE(RiskOf("B").any());
}

TEST_F(MergeRiskTest, SoDoesAFieldOfADeclaredQuery) {
  Load("[[streams.s.queries]]\nfields = [\"host\", \"rack\", \"ts\"]\n" +
       TableText("A", "{host}#{ts:ms}"));
  EXPECT_THAT(RiskOf("A").Fields(), ElementsAre("rack"));
  EXPECT_THAT(QueriedBesideKey(*schema_->FindStream("s"), *schema_->FindTable("A")),
              ElementsAre("rack"));
}

TEST_F(MergeRiskTest, ATableThatKeepsNoEventsIsAtNoRiskAndItsKeyTellsThemApart) {
  Load(TableText("A", "{host}#{ts:ms}") +
       "[tables.L]\nstream = \"s\"\npattern = \"latest\"\nrow_key = \"{sensor}\"\nfamilies.f = {}\n"
       "[tables.G]\nstream = \"s\"\npattern = \"aggregate\"\nrow_key = \"{rack}\"\n"
       "families.g = { aggregate = \"sum\", bucket = \"1h\" }\n");
  for (const char* table : {"L", "G"}) EXPECT_FALSE(RiskOf(table).any()) << table;
  EXPECT_THAT(RiskOf("A").Fields(), ElementsAre("sensor", "rack"));
}

TEST_F(MergeRiskTest, AFieldWithoutAColumnOfItsOwnCannotBeTold) {
  const std::string other = TableText("B", "{host}#{sensor}#{ts:ms}");
  const auto with = [&](const std::string& rule) {
    Load(TableText("A", "{host}#{ts:ms}", "columns = [" + rule + "]") + other);
    return RiskOf("A");
  };
  EXPECT_THAT(with(R"({ family = "f", fields = ["v"] })").untold, ElementsAre("sensor"));
  EXPECT_THAT(with(R"({ family = "f", serialize = "json", name = "b" })").untold,
              ElementsAre("sensor"));
  EXPECT_THAT(with(R"({ family = "f", name = "{value}", value = "" })").untold,
              ElementsAre("sensor"));
  EXPECT_THAT(with(R"({ family = "f", rename = { sensor = "S" } })").kept,
              ElementsAre(MergeRisk::Kept{"sensor", "f", "S"}));
  EXPECT_THAT(with(R"({ family = "f", name = "who", value = "{sensor}" })").kept,
              ElementsAre(MergeRisk::Kept{"sensor", "f", "who"}));
}

TEST_F(MergeRiskTest, ColumnsThatAreNamedForAFieldShareNoCell) {
  Load(TableText("A", "{host}#{ts:ms}",
                 R"(columns = [{ family = "f", fields = ["v"], name = "{sensor}" }])") +
       TableText("B", "{host}#{sensor}#{ts:ms}"));
  EXPECT_FALSE(RiskOf("A").any());
}

TEST_F(MergeRiskTest, KeysOfTablesThatAreGoneTellApartToo) {
  Load(TableText("A", "{host}#{ts:ms}"));
  const std::vector<std::string> gone{"host", "sensor"};
  EXPECT_THAT(MergeRiskOf(*schema_, *schema_->FindTable("A"), gone).Fields(),
              ElementsAre("sensor"));
}

TEST_F(MergeRiskTest, ACellForSeveralFieldsNeedsALookWhateverTheKeyHolds) {
  Load(TableText("A", "{host}#{ts:ms}",
                 R"(columns = [{ family = "f", serialize = "cbor", name = "b" }])") +
       TableText("B", "{host}#{ts:ms}",
                 R"(columns = [{ family = "f", serialize = "json", fields = ["v"] }])"));
  EXPECT_THAT(RiskOf("A").serialized,
              ElementsAre(MergeRisk::Serialized{"f", "b", Serialization::kCbor}));
  EXPECT_FALSE(RiskOf("A").any());
  EXPECT_TRUE(RiskOf("A").needs_look());
  EXPECT_FALSE(RiskOf("B").needs_look());
}

TEST_F(MergeRiskTest, ColumnsThatAreNamedByValuesNeedALook) {
  Load(TableText("A", "{field}#{ts:day}#{host}",
                 R"(columns = [{ family = "f", name = "{value}", value = "" },
                               { family = "f", name = "ID", value = "{host}" }])") +
       TableText("B", "{host}#{ts:ms}"));
  EXPECT_THAT(RiskOf("A").valued, ElementsAre(MergeRisk::Valued{"f", {"ID"}}));
  EXPECT_TRUE(RiskOf("A").needs_look());
  EXPECT_FALSE(RiskOf("B").needs_look());
}

TEST_F(MergeRiskTest, AListedLabelTellsEventsApartUnlessTheKeyHoldsLabels) {
  Load("[streams.s]\nlabels = [\"host\", \"rack\", \"zone*\"]\n" +
       TableText("A", "{host}#{ts:ms}") + TableText("B", "{labels}#{ts:ms}"));
  EXPECT_THAT(RiskOf("A").Fields(), ElementsAre("rack"));
  EXPECT_FALSE(RiskOf("B").any());
  const Stream& stream = *schema_->FindStream("s");
  EXPECT_TRUE(LacksUnnamedLabels(stream, *schema_->FindTable("A")));
  EXPECT_FALSE(LacksUnnamedLabels(stream, *schema_->FindTable("B")));
}

}  // namespace
}  // namespace tallyd
