// A removal forgets what counters hold in memory, too.
#include "service/write/held_removal.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ingest/hold/counter_flusher.h"
#include "tests/api/api_world.h"
#include "tests/api/change_row.h"

namespace tallyd {
namespace {

using nlohmann::json;

constexpr char kHeldRemovalTables[] = R"(
[tables.PAGES]
stream = "s"
pattern = "single-timestamp"
row_key = "{site}#{page}#{ts:ms}"
families.T = {}
flush = "10s"

[tables.EVENTS]
stream = "s"
pattern = "single-timestamp"
row_key = "{page}#{site}#{ts:ms}"
families.F = {}
)";

class HeldRemovalTest : public testing::Test {
 protected:
  HeldRemovalTest()
      : world_(kHeldRemovalTables),
        flusher_(&world_.context().counters, &world_.context().store, &world_.clock()) {
    Hit("s1", "a");
    Hit("s1", "b");
    Hit("s2", "a");
  }

  void Hit(const std::string& site, const std::string& page) {
    const json event = {
        {"site", site}, {"page", page}, {"ts", 1'600'000'000'000}, {"hits", 1}, {"bytes", 5}};
    EXPECT_EQ(world_.Post("s", event.dump()).status, 200u);
  }
  // What is in the table, once all that is held is written: keys without their times, and columns.
  std::vector<std::string> Written() {
    EXPECT_TRUE(flusher_.Flush(true));
    std::vector<std::string> written;
    const json told = json::parse(world_.Call(GetRows, {"PAGES"}).body);
    for (const json& row : told.at("rows")) {
      std::string text = row.at("key").get<std::string>().substr(0, 4);
      for (const auto& [column, cells] : row.at("cells").at("T").items()) text += " " + column;
      written.push_back(text);
    }
    return written;
  }
  using Rows = std::vector<std::string>;

  ApiWorld world_;
  CounterFlusher flusher_;
};

TEST_F(HeldRemovalTest, EventsOfAnEntityTakeWhatIsHeldOfIt) {
  const Response answer = world_.Call(DeleteEvents, {"s"}, "site=s1");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["held_rows"], 2);
  Hit("s1", "b");
  EXPECT_EQ(Written(), (Rows{"s1#b bytes hits", "s2#a bytes hits"}));
}

TEST_F(HeldRemovalTest, AnEntityIsToldByFieldsThatDoNotLeadTheKey) {
  ASSERT_EQ(world_.Call(DeleteEvents, {"s"}, "page=a").status, 200u);
  EXPECT_EQ(Written(), (Rows{"s1#b bytes hits"}));
}

TEST_F(HeldRemovalTest, ATimeRangeTakesWhatIsOfItsTime) {
  ASSERT_EQ(world_.Call(DeleteEvents, {"s"}, "site=s1&to=1600000000000").status, 200u);
  EXPECT_EQ(Written().size(), 3u);
  Hit("s1", "a");
  ASSERT_EQ(world_.Call(DeleteEvents, {"s"}, "site=s1&from=1600000000000").status, 200u);
  EXPECT_EQ(Written(), (Rows{"s2#a bytes hits"}));
}

TEST_F(HeldRemovalTest, APrefixTakesWhatIsHeldOfIt) {
  ASSERT_EQ(world_.Call(DeleteRows, {"PAGES"}, "prefix=s1%23").status, 200u);
  EXPECT_EQ(Written(), (Rows{"s2#a bytes hits"}));
}

TEST_F(HeldRemovalTest, RowsCellsAndMutationsTakeWhatIsHeldOfTheirRow) {
  const auto& held = world_.context().counters;
  EXPECT_EQ(held.rows(), 3u);
  // What the keys will be, an interval tells that began now.
  const auto interval = world_.context().counters.Begin(world_.context().store.FindTable("PAGES"),
                                                        10 * kUsPerSecond, world_.clock().now);
  const TimeUs time = interval->TimeOf(1'600'000'000'000'000);
  const auto key = [&](const std::string& entity) {
    return entity + "#" + std::to_string(time / kUsPerMs);
  };
  ASSERT_EQ(world_.Call(DeleteRow, {"PAGES", key("s1#a")}).status, 200u);
  ASSERT_EQ(world_.Call(DeleteCells, {"PAGES", key("s1#b"), "T:hits"}).status, 200u);
  const std::string forget = R"({"delete":{"family":"T","qualifier":"bytes"}})";
  ASSERT_EQ(ChangeRow(world_, "PAGES", key("s2#a"), forget).status, 200u);
  EXPECT_EQ(Written(), (Rows{"s1#b bytes", "s2#a hits"}));
}

TEST_F(HeldRemovalTest, WhatWasWrittenBeforeGoesAsWell) {
  EXPECT_EQ(Written().size(), 3u);
  Hit("s1", "a");
  ASSERT_EQ(world_.Call(DeleteEvents, {"s"}, "site=s1").status, 200u);
  EXPECT_EQ(Written(), (Rows{"s2#a bytes hits"}));
}

}  // namespace
}  // namespace tallyd
