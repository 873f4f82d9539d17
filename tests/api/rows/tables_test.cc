// What GET /v1/tables tells of a table: members, their order, and which are left out.
#include <gtest/gtest.h>

#include "ingest/text/json.h"
#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr char kPlain[] = R"(
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}
)";

constexpr char kRich[] = R"(
[tables.LAST]
stream = "s"
pattern = "latest"
row_key = "{k}"
keep = "row"
when = ["a", "b"]
columns = [{ family = "G", fields = ["a"], rename = { a = "x" } },
           { family = "F", fields = ["Bid*"], names = "compact" }]
families.G = { max_age = "90m" }
families.F = {}
[tables.KEPT]
stream = "s"
pattern = "new-cell"
row_key = "{k}#{ts:day}"
families.F = { max_age = "8d", max_versions = 2, gc = "all" }
)";

std::string Told(ApiWorld& world, const std::string& table) {
  return BodyOf(world.Call(GetTable, {table}));
}

TEST(TablesTest, ATableTellsItsKeyItsRulesItsFamiliesAndItsSize) {
  ApiWorld world(kPlain);
  EXPECT_EQ(Told(world, "T"),
            R"({"name":"T","stream":"s","pattern":"single-timestamp","row_key":"{k}#{ts:ms}",)"
            R"("time":"ts","columns":[{"family":"F","name":"{field}","value":"{value}"}],)"
            R"("families":{"F":{}},"orphaned":false,"rows":0,"rows_exact":true,"disk_bytes":0,)"
            R"("merged_events":0})");
}

TEST(TablesTest, WhatIsNotTheDefaultIsToldBesideIt) {
  ApiWorld world(kRich);
  const std::string told = Told(world, "LAST");
  for (const char* part :
       {R"("row_key":"{k}","keep":"row","time":"ts","when":["a","b"],"columns":[)",
        R"({"family":"G","fields":["a"],"name":"{field}","value":"{value}","rename":{"a":"x"}})",
        R"({"family":"F","fields":["Bid*"],"name":"{field}","value":"{value}","names":"compact"})",
        R"("families":{"F":{},"G":{"max_age":"90m"}})"}) {
    EXPECT_NE(told.find(part), std::string::npos) << part << " in " << told;
  }
}

TEST(TablesTest, AFamilyTellsWhatItKeeps) {
  ApiWorld world(kRich);
  EXPECT_EQ(Json::parse(Told(world, "KEPT"))["families"].dump(),
            R"({"F":{"max_age":"8d","max_versions":2,"gc":"all"}})");
}

TEST(TablesTest, AnOrphanHasItsFamiliesAndNoRules) {
  ApiWorld world(std::string(kPlain) + kRich);
  ASSERT_TRUE(world.Reload(kRich));
  const Json told = Json::parse(Told(world, "T"));
  EXPECT_EQ(told["orphaned"], true);
  EXPECT_FALSE(told.contains("columns"));
  EXPECT_TRUE(told["families"].contains("F")) << told;
}

TEST(TablesTest, AllTablesAreListed) {
  ApiWorld world(std::string(kPlain) + kRich);
  const Json all = Json::parse(BodyOf(world.Call(ListTables, {})))["tables"];
  ASSERT_EQ(all.size(), 3u);
  for (const Json& one : all) EXPECT_EQ(one.dump(), Told(world, one["name"]));
}

}  // namespace
}  // namespace tallyd
