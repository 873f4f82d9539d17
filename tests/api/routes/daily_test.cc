// POST /v1/tables/{table}/daily, what /v1/status tells, and how events are asked of a nightly
// table.
#include <gtest/gtest.h>

#include "ingest/text/json.h"
#include "service/nightly/nightly_schema.h"
#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr const char* kSensor = R"(
[tables.SENSOR]
stream = "meter"
pattern = "new-column"
row_key = "{meter:zero(10)}#{ts:day}"
columns = [{ family = "METER", name = "{ts:%H%M}", value = "{value}" }]
families.METER = {}
daily = { name = "SENSOR_{date}" }
[tables.NOW]
stream = "meter"
pattern = "latest"
row_key = "{meter}"
families.M = {}
)";

class DailyTest : public testing::Test {
 protected:
  void SetUp() override {
    configured = ParseConfig(kSensor, "test.toml")->schema;
    world.refresh = [this] { return PutInForce(); };
    nightly->Configure(configured);
    Response posted = world.Post("meter", R"([
      {"meter": 987654, "ts": 1501027200000, "value": 12.34},
      {"meter": 123456, "ts": 1501027200000, "value": 1},
      {"meter": 987654, "ts": 1501113600000, "value": 2}])");
    ASSERT_EQ(posted.status, 200u) << posted.body;
  }
  Status PutInForce() {
    if (is_held_up) return {};
    ApiContext& context = world.context();
    Result<std::shared_ptr<const Schema>> schema = WithNightly(configured, context.store);
    if (!schema) return schema.error();
    if (Status adopted = context.store.Adopt(**schema); !adopted) return adopted;
    auto snapshot = std::make_shared<SchemaSnapshot>();
    snapshot->schema = *schema;
    for (const Stream& stream : (*schema)->streams) {
      snapshot->mappers.emplace(stream.name,
                                std::make_unique<Mapper>(*schema, stream, context.store));
    }
    context.live_schema.Set(snapshot);
    return {};
  }
  Response Build(const std::string& table, const std::string& query) {
    return world.Call(PostDaily, {table}, query);
  }
  Json Get(Handler handler, std::vector<std::string> arguments, const std::string& query = "") {
    return Json::parse(BodyOf(world.Call(handler, std::move(arguments), query)));
  }

  ApiWorld world{kSensor};
  std::shared_ptr<const Schema> configured;
  NightlyTables* const nightly = &world.context().jobs.nightly;
  bool is_held_up = false;  // What is in force stays for now.
};

TEST_F(DailyTest, BuildsAndTellsWhatItCopied) {
  Response built = Build("SENSOR", "date=2017-07-26");
  EXPECT_EQ(built.status, 200u);
  EXPECT_EQ(Json::parse(BodyOf(std::move(built))),
            Json::parse(R"({"table": "SENSOR_20170726", "rows": 2, "cells": 2})"));
}

TEST_F(DailyTest, RefusesWhatIsNoDayThatIsOverOfATableThatHasNights) {
  for (const char* query : {"", "date=", "date=20170726", "date=2017-02-30", "date=2100-01-01",
                            "date=2017-07-26&x=1", "date=2017-07-26&date=2017-07-27"}) {
    EXPECT_EQ(Build("SENSOR", query).status, 400u) << query;
  }
  EXPECT_EQ(Build("NOW", "date=2017-07-26").status, 400u);
  EXPECT_EQ(Build("NONE", "date=2017-07-26").status, 404u);
}

TEST_F(DailyTest, EventsOfANightlyTableAreARange) {
  ASSERT_EQ(Build("SENSOR", "date=2017-07-26").status, 200u);
  const Json answer = Get(GetEvents, {"meter"}, "table=SENSOR_20170726");
  EXPECT_EQ(answer["rows"].size(), 2u) << answer.dump();
  EXPECT_EQ(answer["plan"]["kind"], "range");
  EXPECT_EQ(answer["plan"]["table"], "SENSOR_20170726");
  EXPECT_FALSE(answer["plan"].contains("complete")) << answer.dump();
  const Json other_day = Get(GetEvents, {"meter"}, "table=SENSOR_20170726&from=1501113600000");
  EXPECT_EQ(other_day["rows"].size(), 0u);
  const Json plan = Get(GetPlan, {"meter"}, "meter=987654");
  EXPECT_EQ(plan["table"], "SENSOR");
}

TEST_F(DailyTest, OneThatIsBehindSaysSo) {
  ASSERT_EQ(Build("SENSOR", "date=2017-07-26").status, 200u);
  world.Post("meter", R"({"meter": 5, "ts": 1501027200000, "value": 3})");
  nightly->Look();
  const Json answer = Get(GetEvents, {"meter"}, "table=SENSOR_20170726");
  EXPECT_EQ(answer["rows"].size(), 2u);
  EXPECT_EQ(answer["plan"]["complete"], false) << answer.dump();
  const Json status = Get(GetStatus, {})["nightly"];
  ASSERT_EQ(status.size(), 1u) << status.dump();
  EXPECT_EQ(status[0]["state"], "behind");
  EXPECT_EQ(status[0]["date"], "2017-07-26");
}

TEST_F(DailyTest, AnAnswerBehindALateReadingSaysSoAtOnce) {
  ASSERT_EQ(Build("SENSOR", "date=2017-07-26").status, 200u);
  ASSERT_EQ(world.Post("meter", R"({"meter": 987654, "ts": 1501027200000, "value": 3})").status,
            200u);
  const Json answer = Get(GetEvents, {"meter"}, "table=SENSOR_20170726");
  EXPECT_EQ(answer["plan"]["complete"], false) << answer.dump();
  EXPECT_TRUE(answer["plan"].contains("note")) << answer.dump();
  ASSERT_EQ(Build("SENSOR", "date=2017-07-26").status, 200u);
  const Json again = Get(GetEvents, {"meter"}, "table=SENSOR_20170726");
  EXPECT_FALSE(again["plan"].contains("complete")) << again.dump();
}

// What the source let go before the table was made is in neither.
TEST_F(DailyTest, OneLacksWhatItsSourceKeptNoVersionsOf) {
  std::string text = kSensor;
  text.insert(text.find("families.METER = {") + 18, "max_versions = 1");
  configured = ParseConfig(text, "test.toml")->schema;
  nightly->Configure(configured);
  ASSERT_TRUE(PutInForce());
  ASSERT_EQ(Build("SENSOR", "date=2017-07-26").status, 200u);
  const Json answer = Get(GetEvents, {"meter"}, "table=SENSOR_20170726");
  EXPECT_EQ(answer["plan"]["complete"], false) << answer.dump();
  EXPECT_NE(answer["plan"].value("note", "").find("family METER of SENSOR"), std::string::npos);
}

TEST_F(DailyTest, DeletesOfEventsReachIt) {
  ASSERT_EQ(Build("SENSOR", "date=2017-07-26").status, 200u);
  const Json deleted = Get(DeleteEvents, {"meter"}, "meter=987654");
  EXPECT_TRUE(deleted["tables"].contains("SENSOR_20170726")) << deleted.dump();
  EXPECT_EQ(Get(GetEvents, {"meter"}, "table=SENSOR_20170726")["rows"].size(), 1u);
}

TEST_F(DailyTest, DeletesOfRowsReachIt) {
  ASSERT_EQ(Build("SENSOR", "date=2017-07-26").status, 200u);
  const Json deleted = Get(DeleteRows, {"SENSOR"}, "prefix=0000987654%23");
  EXPECT_EQ(deleted["rows"], 2) << deleted.dump();
  EXPECT_EQ(Get(GetEvents, {"meter"}, "table=SENSOR_20170726")["rows"].size(), 1u);
  const Json cells = Get(DeleteCells, {"SENSOR", "0000123456#20170726", "METER:0000"});
  EXPECT_EQ(cells["cells"], 1) << cells.dump();
  EXPECT_EQ(Get(GetEvents, {"meter"}, "table=SENSOR_20170726")["rows"].size(), 0u);
}

TEST_F(DailyTest, DeletesOfEventsPassOverOneThatIsJustGoing) {
  std::string text = kSensor;
  text.insert(text.find("{date}") + 7, ", keep = \"1d\"");
  configured = ParseConfig(text, "test.toml")->schema;
  nightly->Configure(configured);
  ASSERT_TRUE(PutInForce());
  ASSERT_EQ(Build("SENSOR", "date=2017-07-26").status, 200u);
  is_held_up = true;
  world.clock().now += 3 * kUsPerDay;
  Get(PostTrustClock, {});
  nightly->Look();
  ASSERT_EQ(world.context().store.FindTable("SENSOR_20170726"), nullptr);
  const Json deleted = Get(DeleteEvents, {"meter"}, "meter=987654");
  EXPECT_EQ(deleted["tables"]["SENSOR"]["rows"], 2) << deleted.dump();
  EXPECT_FALSE(deleted["tables"].contains("SENSOR_20170726"));
}

TEST_F(DailyTest, TablesTellWhoseDayTheyHold) {
  ASSERT_EQ(Build("SENSOR", "date=2017-07-26").status, 200u);
  const Json table = Get(GetTable, {"SENSOR_20170726"});
  EXPECT_EQ(table["source"], "SENSOR");
  EXPECT_EQ(table["date"], "2017-07-26");
  EXPECT_EQ(table["orphaned"], false);
  const Json source = Get(GetTable, {"SENSOR"});
  EXPECT_EQ(source["daily"], Json::parse(R"({"name": "SENSOR_{date}", "at": "00:30"})"));
}

}  // namespace
}  // namespace tallyd
