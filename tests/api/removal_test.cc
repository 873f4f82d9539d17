// Deletes through their handlers: what goes, what stays, what is refused.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/api/api_world.h"
#include "tests/api/change_row.h"
#include "tests/api/full_disk.h"

namespace tallyd {
namespace {

using nlohmann::json;

constexpr char kRemovalTables[] = R"(
[tables.PHONES]
stream = "phones"
pattern = "single-timestamp"
row_key = "{tenant}#{id}#{ts:ms}"
families.F = {}

[tables.BY_ID]
stream = "phones"
pattern = "single-timestamp"
row_key = "{id}#{tenant}#{ts:ms}"
families.F = {}

[tables.NOW]
stream = "phones"
pattern = "latest"
row_key = "{tenant}#{id}"
families.F = {}
)";

class RemovalTest : public testing::Test {
 protected:
  RemovalTest() : world_(kRemovalTables) { Write(); }

  void Write() {
    EXPECT_EQ(world_
                  .Post("phones", R"([{"tenant":"a","id":"x","ts":1,"v":1,"w":1},
                                        {"tenant":"a","id":"y","ts":2,"v":2},
                                        {"tenant":"a2","id":"x","ts":3,"v":3}])")
                  .status,
              200u);
  }

  std::vector<std::string> KeysOf(const std::string& table) {
    std::vector<std::string> keys;
    const json answer = json::parse(world_.Call(GetRows, {table}).body);
    for (const json& row : answer["rows"]) keys.push_back(row["key"]);
    return keys;
  }

  ApiWorld world_;
};

using Keys = std::vector<std::string>;

TEST_F(RemovalTest, APrefixGoesWithItsDelimiter) {
  EXPECT_EQ(world_.Call(DeleteRows, {"PHONES"}, "prefix=a%23").status, 200u);
  EXPECT_EQ(KeysOf("PHONES"), Keys{"a2#x#0000000000003"});
  EXPECT_EQ(world_.Call(GetRow, {"PHONES", "a#x#0000000000001"}).status, 404u);
}

TEST_F(RemovalTest, TheAnswerCountsWhatGoes) {
  const json prefix = json::parse(world_.Call(DeleteRows, {"PHONES"}, "prefix=a%23").body);
  EXPECT_EQ(prefix, json::parse(R"({"deleted": {"prefix": "a#"}, "rows": 2, "cells": 3,
                                    "counted": "exact"})"));
  const json cell = json::parse(world_.Call(DeleteCells, {"NOW", "a#x", "F:v"}).body);
  EXPECT_EQ(cell["cells"], 1);
  const json entity = json::parse(world_.Call(DeleteEvents, {"phones"}, "tenant=a").body);
  EXPECT_EQ(entity["tables"]["NOW"]["rows"], 2);
  EXPECT_EQ(entity["tables"]["NOW"]["cells"], 2);
  // There the tenant does not lead the key: rows are met one by one.
  EXPECT_EQ(entity["tables"]["BY_ID"],
            json::parse(R"({"ranges": 2, "rows": 2, "counted": "exact"})"));
}

TEST_F(RemovalTest, WithoutAPrefixNothingGoes) {
  EXPECT_EQ(world_.Call(DeleteRows, {"PHONES"}).status, 400u);
  EXPECT_EQ(world_.Call(DeleteRows, {"PHONES"}, "prefix=").status, 400u);
  EXPECT_EQ(world_.Call(DeleteRows, {"NONE"}, "prefix=a").status, 404u);
  EXPECT_EQ(KeysOf("PHONES").size(), 3u);
}

TEST_F(RemovalTest, ARowAndACellGoAlone) {
  EXPECT_EQ(world_.Call(DeleteRow, {"PHONES", "a#y#0000000000002"}).status, 200u);
  EXPECT_EQ(world_.Call(DeleteCells, {"PHONES", "a#x#0000000000001", "F:v"}).status, 200u);
  const json row = json::parse(world_.Call(GetRow, {"PHONES", "a#x#0000000000001"}).body);
  EXPECT_EQ(row["cells"], json::parse(R"({"F":{"w":[{"value":1,"ts":1}]}})"));
  EXPECT_EQ(KeysOf("PHONES").size(), 2u);
  EXPECT_EQ(world_.Call(DeleteCells, {"PHONES", "k", "nofamily"}).status, 400u);
  EXPECT_EQ(world_.Call(DeleteCells, {"PHONES", "k", "G:v"}).status, 404u);
}

TEST_F(RemovalTest, AnEntityGoesFromEveryTableOfItsStream) {
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}, "tenant=a").status, 200u);
  EXPECT_EQ(KeysOf("PHONES"), Keys{"a2#x#0000000000003"});
  EXPECT_EQ(KeysOf("BY_ID"), Keys{"x#a2#0000000000003"});
  EXPECT_EQ(KeysOf("NOW"), Keys{"a2#x"});
}

TEST_F(RemovalTest, AnEntityGoesFromATableThatIsInTheFileNoMore) {
  const std::string tables = kRemovalTables;
  ASSERT_TRUE(world_.Reload(tables.substr(0, tables.find("[tables.BY_ID]"))));
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}, "tenant=a&id=x").status, 200u);
  ASSERT_TRUE(world_.Reload(tables));
  EXPECT_EQ(KeysOf("BY_ID"), (Keys{"x#a2#0000000000003", "y#a#0000000000002"}));
  EXPECT_EQ(KeysOf("NOW"), (Keys{"a#y", "a2#x"}));
}

// The store has adopted the file already; what is asked is still asked of the one before.
TEST_F(RemovalTest, AnEntityGoesFromATableThatAReloadIsBringingBack) {
  const std::string tables = kRemovalTables;
  ASSERT_TRUE(world_.Reload(tables.substr(0, tables.find("[tables.BY_ID]"))));
  const auto before = world_.context().live_schema.snapshot();
  ASSERT_TRUE(world_.Reload(tables));
  const auto after = world_.context().live_schema.snapshot();
  world_.context().live_schema.Set(before);
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}, "tenant=a&id=x").status, 200u);
  world_.context().live_schema.Set(after);
  EXPECT_EQ(KeysOf("BY_ID"), (Keys{"x#a2#0000000000003", "y#a#0000000000002"}));
  EXPECT_EQ(KeysOf("NOW"), (Keys{"a#y", "a2#x"}));
}

// The keys that are there were made of the other time.
TEST_F(RemovalTest, ATimeRangeGoesByTheCellsWhereATableChangedItsTime) {
  const std::string other = R"(
[tables.BY_T2]
stream = "s"
pattern = "single-timestamp"
row_key = "{id}#{ts:ms}"
time = "t2"
families.F = {}
)";
  ApiWorld world(other);
  const std::string far = "1643200000000";
  ASSERT_EQ(world
                .Post("s", R"([{"id":"a","ts":1600000000000,"t2":)" + far + R"(,"v":1},
                               {"id":"a","ts":)" +
                               far + R"(,"t2":1600000000000,"v":2}])")
                .status,
            200u);
  std::string changed = other;
  changed.erase(changed.find("time = \"t2\"\n"), 12);
  ASSERT_TRUE(world.Reload(changed));
  ASSERT_EQ(world.Call(DeleteEvents, {"s"}, "id=a&from=1599913600000&to=1600086400000").status,
            200u);
  const json rows = json::parse(world.Call(GetRows, {"BY_T2"}).body)["rows"];
  ASSERT_EQ(rows.size(), 1u) << rows;
  EXPECT_EQ(rows[0]["cells"]["F"]["v"][0]["value"], 1) << rows;
}

TEST_F(RemovalTest, ATableWithATimeOfItsOwnIsCutByIt) {
  ApiWorld world(R"(
[tables.BY_TS]
stream = "s"
pattern = "single-timestamp"
row_key = "{id}#{ts:ms}"
families.F = {}
[tables.BY_OT]
stream = "s"
pattern = "single-timestamp"
row_key = "{id}#{ot:ms}"
time = "ot"
families.F = {}
)");
  ASSERT_EQ(world.Post("s", R"({"id":"a","ts":1600000000000,"ot":1643200000000,"v":1})").status,
            200u);
  const auto removed = [&](const char* query) {
    return json::parse(world.Call(DeleteEvents, {"s"}, query).body)["tables"];
  };
  json tables = removed("id=a&from=1600000000000&to=1600000000001");
  EXPECT_EQ(tables["BY_TS"]["rows"], 1) << tables;
  EXPECT_FALSE(tables["BY_TS"].contains("time")) << tables;
  EXPECT_EQ(tables["BY_OT"]["rows"], 0) << tables;
  EXPECT_EQ(tables["BY_OT"]["time"], "ot") << tables;
  tables = removed("id=a&from=1643200000000&to=1643200000001");
  EXPECT_EQ(tables["BY_OT"]["rows"], 1) << tables;
  tables = removed("id=a");
  EXPECT_FALSE(tables["BY_OT"].contains("time")) << tables;
}

TEST_F(RemovalTest, ATimeRangeBoundsWhatGoes) {
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}, "tenant=a&from=2.0").status, 200u);
  EXPECT_EQ(KeysOf("PHONES").size(), 2u);
  EXPECT_EQ(KeysOf("BY_ID").size(), 2u);
  EXPECT_EQ(KeysOf("NOW"), (Keys{"a#x", "a2#x"}));
}

TEST_F(RemovalTest, WhatIsWrittenLaterStaysHoweverOld) {
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}, "tenant=a").status, 200u);
  EXPECT_EQ(world_.Post("phones", R"({"tenant":"a","id":"x","ts":0,"v":9})").status, 200u);
  EXPECT_EQ(KeysOf("PHONES"), (Keys{"a#x#0000000000000", "a2#x#0000000000003"}));
  EXPECT_EQ(KeysOf("NOW"), (Keys{"a#x", "a2#x"}));
}

TEST_F(RemovalTest, AFieldThatIsInNoKeyIsRefused) {
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}).status, 400u);
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}, "from=1.0").status, 400u);
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}, "v=1").status, 400u);
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}, "tenant=").status, 400u);
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}, "tenant=a&tenant=").status, 400u);
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}, "tenant=a&v=1").status, 422u);
  EXPECT_EQ(KeysOf("PHONES").size(), 3u);
}

TEST_F(RemovalTest, ATableThatIsDroppedHasNoLargeRowsAnyMore) {
  RowBytes bytes(RowSampling{true, 0});
  bytes.Add(world_.context().store.FindTable("BY_ID"), "x", 1, kMaxRowBytes);
  world_.context().row_sizes.Add(bytes);
  std::string without = kRemovalTables;
  without.erase(without.find("[tables.BY_ID]"),
                without.find("[tables.NOW]") - without.find("[tables.BY_ID]"));
  ASSERT_TRUE(world_.Reload(without));
  ASSERT_EQ(world_.context().row_sizes.Large().size(), 1u);
  EXPECT_EQ(world_.Call(DropTable, {"BY_ID"}).status, 200u);
  EXPECT_TRUE(world_.context().row_sizes.Large().empty());
}

TEST_F(RemovalTest, OnAFullDiskWhatFreesSpaceIsTaken) {
  SetDisksFull(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // Until it is looked at again.
  const std::string event = R"({"tenant":"b","id":"z","ts":9,"v":1})";
  ASSERT_EQ(world_.Post("phones", event).status, 507u);
  const auto change = [&](const std::string& list) {
    return ChangeRow(world_, "BY_ID", "x#a#0000000000001", list).status;
  };
  const std::string forget = R"({"delete":{"family":"F","qualifier":"v"}})";
  const std::string set = R"({"set":{"family":"F","qualifier":"q","ts":1,"value":1}})";
  EXPECT_EQ(change(forget), 200u);
  EXPECT_EQ(change(set), 507u);
  EXPECT_EQ(change(forget + "," + set), 507u);
  EXPECT_EQ(world_.Call(DeleteCells, {"PHONES", "a#x#0000000000001", "F:v"}).status, 200u);
  EXPECT_EQ(world_.Call(DeleteRow, {"PHONES", "a#y#0000000000002"}).status, 200u);
  EXPECT_EQ(world_.Call(DeleteRows, {"PHONES"}, "prefix=a%23").status, 200u);
  EXPECT_EQ(world_.Call(DeleteEvents, {"phones"}, "tenant=a").status, 200u);
  EXPECT_EQ(KeysOf("PHONES"), Keys{"a2#x#0000000000003"});
  EXPECT_EQ(KeysOf("BY_ID"), Keys{"x#a2#0000000000003"});
  SetDisksFull(false);
}

TEST_F(RemovalTest, ATableThatGetsTheNameOfADroppedOneIsUntouched) {
  Store& store = world_.context().store;
  ASSERT_EQ(world_.Call(DeleteRow, {"BY_ID", "x#a#0000000000001"}).status, 200u);
  ASSERT_EQ(store.Memos("hand/", 10)->size(), 1u);
  std::string without = kRemovalTables;
  without.erase(without.find("[tables.BY_ID]"),
                without.find("[tables.NOW]") - without.find("[tables.BY_ID]"));
  ASSERT_TRUE(world_.Reload(without));
  EXPECT_EQ(world_.Call(DropTable, {"BY_ID"}).status, 200u);
  EXPECT_TRUE(store.Memos("hand/", 10)->empty());
}

TEST_F(RemovalTest, AConfiguredTableIsNotDropped) {
  EXPECT_EQ(world_.Call(DropTable, {"PHONES"}).status, 409u);
  EXPECT_EQ(world_.Call(DropTable, {"NONE"}).status, 404u);
}

}  // namespace
}  // namespace tallyd
