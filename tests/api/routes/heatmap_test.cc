#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ingest/text/json.h"
#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr const char* kHeatmapTables = R"(
[tables.BATTERY]
stream = "battery"
pattern = "single-timestamp"
row_key = "BATTERY#{ts:ms}"
families.METRIC = {}
[tables.PROMOTED]
stream = "battery"
pattern = "single-timestamp"
row_key = "BATTERY#{USER}#{ts:ms}"
families.METRIC = {}
[tables.NEWEST_FIRST]
stream = "battery"
pattern = "single-timestamp"
row_key = "{USER}#{ts:reverse(ms)}"
families.METRIC = {}
[tables.CURRENT]
stream = "battery"
pattern = "latest"
row_key = "{USER}"
families.METRIC = {}
)";

class HeatmapTest : public testing::Test {
 protected:
  HeatmapTest() : world_(kHeatmapTables) {}

  void WriteBattery() {
    EXPECT_EQ(200u, world_
                        .Post("battery", R"([
      {"ts": 1425213901001, "USER": "Corrie", "PERCENTAGE": 98},
      {"ts": 1425213901002, "USER": "Jo", "PERCENTAGE": 54},
      {"ts": 1425213901003, "USER": "Corrie", "PERCENTAGE": 96},
      {"ts": 1425213901004, "USER": "Sam", "PERCENTAGE": 43},
      {"ts": 1425213901005, "USER": "Sam", "PERCENTAGE": 38}])")
                        .status);
  }
  Json Get(const std::string& query) {
    const Response response = world_.Call(GetHeatmap, {}, query);
    EXPECT_EQ(200u, response.status) << response.body;
    return Json::parse(response.body);
  }
  unsigned StatusOf(const std::string& query) { return world_.Call(GetHeatmap, {}, query).status; }

  ApiWorld world_;
};

TEST_F(HeatmapTest, OneConstantPrefixIsHotWithEveryWriteAtItsEnd) {
  WriteBattery();
  const Json heat = Get("table=BATTERY&metric=writes");
  EXPECT_EQ(R"([{"start":"BATTERY#","end":"BATTERY$"}])", heat["ranges"].dump());
  EXPECT_EQ("[[5]]", heat["values"].dump());
  EXPECT_EQ("[1699999980000]", heat["times"].dump());
  ASSERT_EQ(1u, heat["hot"].size());
  EXPECT_EQ("BATTERY#", heat["hot"][0]["prefix"]);
  EXPECT_EQ(5, heat["hot"][0]["writes"]);
  EXPECT_EQ(1.0, heat["hot"][0]["share"]);
  EXPECT_EQ("all 5 writes go to the end of the keys that begin with \"BATTERY#\"",
            heat["hot"][0]["detail"]);
}

TEST_F(HeatmapTest, PromotedKeysAreThreePrefixesOfWhichNoneIsHot) {
  WriteBattery();
  const Json heat = Get("table=PROMOTED");
  EXPECT_EQ("BATTERY#Corrie#", heat["ranges"][0]["start"]);
  EXPECT_EQ("BATTERY#Jo#", heat["ranges"][1]["start"]);
  EXPECT_EQ("BATTERY#Sam#", heat["ranges"][2]["start"]);
  EXPECT_EQ("[[2],[1],[2]]", heat["values"].dump());
  EXPECT_EQ("[]", heat["hot"].dump());
}

TEST_F(HeatmapTest, ALatestTableIsCountedByItsWholeKeys) {
  WriteBattery();
  const Json heat = Get("table=CURRENT");
  EXPECT_EQ("Corrie", heat["ranges"][0]["start"]);
  EXPECT_EQ("[[2],[1],[2]]", heat["values"].dump());
}

TEST_F(HeatmapTest, ReversedTimesPutTheNewestAtTheBeginning) {
  world_.Post("battery", R"([{"ts": 1, "USER": "Jo", "x": 1}, {"ts": 2, "USER": "Jo", "x": 1},
                             {"ts": 1, "USER": "Sam", "x": 1}])");
  EXPECT_EQ("2 of 3 writes go to the beginning of the keys that begin with \"Jo#\"",
            Get("table=NEWEST_FIRST")["hot"][0]["detail"]);
}

TEST_F(HeatmapTest, LateWritesAreNotAtTheEnd) {
  world_.Post("battery", R"([{"ts": 5, "USER": "Jo", "x": 1}, {"ts": 2, "USER": "Jo", "x": 1}])");
  EXPECT_EQ("all 2 writes go to the keys that begin with \"BATTERY#\", 1 of them to the end",
            Get("table=BATTERY")["hot"][0]["detail"]);
}

TEST_F(HeatmapTest, RowsReadAreCountedByTheirPrefixes) {
  WriteBattery();
  EXPECT_EQ("[]", Get("table=PROMOTED&metric=reads")["ranges"].dump());
  world_.Call(GetEvents, {"battery"}, "USER=Sam&table=PROMOTED");
  world_.Call(GetRows, {"PROMOTED"}, "prefix=BATTERY%23Jo%23");
  world_.Call(GetEvents, {"battery"}, "USER=Sam&table=PROMOTED&step=1m&agg=max&fields=PERCENTAGE");
  const Json heat = Get("table=PROMOTED&metric=reads");
  EXPECT_EQ("BATTERY#Jo#", heat["ranges"][0]["start"]);
  EXPECT_EQ("BATTERY#Sam#", heat["ranges"][1]["start"]);
  EXPECT_EQ("[[1],[4]]", heat["values"].dump());
  EXPECT_EQ("4 of 5 reads go to the keys that begin with \"BATTERY#Sam#\"",
            heat["hot"][0]["detail"]);
}

TEST_F(HeatmapTest, MinutesWithoutWritesAreThereToo) {
  WriteBattery();
  world_.clock().now += 120 * kUsPerSecond;
  WriteBattery();
  EXPECT_EQ("[[5,0,5]]", Get("table=BATTERY")["values"].dump());
  EXPECT_EQ("[[5]]", Get("table=BATTERY&from=1700000040000")["values"].dump());
  EXPECT_EQ("[[5]]", Get("table=BATTERY&to=1700000010000")["values"].dump());
  EXPECT_EQ("[]", Get("table=BATTERY&to=1600000000000")["values"].dump());
}

TEST_F(HeatmapTest, WhatIsNotStoredIsNotCounted) {
  world_.Post("battery", R"([{"ts": 1, "USER": "Jo", "x": 1}, {"ts": 1, "x": 1}])");
  world_.Post("battery", R"([{"ts": 1, "USER": "Jo", "x": 1}])", "dry_run=1");
  EXPECT_EQ("[]", Get("table=BATTERY")["values"].dump());
}

TEST_F(HeatmapTest, TellsWhatIsWrongWithARequest) {
  EXPECT_EQ(404u, StatusOf("table=NONE"));
  EXPECT_EQ(400u, StatusOf(""));
  EXPECT_EQ(400u, StatusOf("table=BATTERY&metric=heat"));
  EXPECT_EQ(400u, StatusOf("table=BATTERY&by=hour"));
  EXPECT_EQ(400u, StatusOf("table=BATTERY&from=yesterday"));
}

}  // namespace
}  // namespace tallyd
