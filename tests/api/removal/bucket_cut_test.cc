// Removals of events of a stream that has tables which add up.
#include "service/removal/bucket_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr char kBucketCutTables[] = R"(
[tables.EVENTS]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}

[tables.HOURS]
stream = "s"
pattern = "aggregate"
row_key = "{host}#{ts:day}"
families.T = { aggregate = "sum", bucket = "1h" }
columns = [{ family = "T", fields = ["v"] }]
)";
constexpr int64_t kStart = 1'699'999'200'000;  // An hour begins, in milliseconds.

class BucketCutTest : public testing::Test {
 protected:
  explicit BucketCutTest(const std::string& tables = kBucketCutTables) : world_(tables) {
    json events = json::array();
    for (int i = 0; i < 60; ++i) {
      events.push_back({{"host", "x"}, {"ts", kStart + i * 60'000}, {"v", 1}});
    }
    EXPECT_EQ(world_.Post("s", events.dump()).status, 200u);
  }

  Response Remove(int from_minute, int to_minute, const std::string& more = "") {
    const auto at = [](int minute) { return std::to_string(kStart + minute * 60'000); };
    return world_.Call(DeleteEvents, {"s"},
                       "host=x&from=" + at(from_minute) + "&to=" + at(to_minute) + more);
  }
  size_t Events() { return json::parse(world_.Call(GetRows, {"EVENTS"}).body)["rows"].size(); }
  // What all cells of the table hold together.
  int64_t SumOf(const std::string& table) {
    int64_t sum = 0;
    const json told = json::parse(world_.Call(GetRows, {table}).body);
    for (const json& row : told.at("rows")) {
      for (const json& cell : row.at("cells").at("T").at("v")) sum += cell["value"].get<int64_t>();
    }
    return sum;
  }

  ApiWorld world_;
};

TEST_F(BucketCutTest, ARangeThatCutsABucketIsRefusedWithBoundsThatWouldDo) {
  for (const auto& [from, to] : {std::pair(0, 15), std::pair(15, 45), std::pair(45, 60)}) {
    const Response answer = Remove(from, to);
    EXPECT_EQ(answer.status, 422u) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr("HOURS"));
    EXPECT_THAT(answer.body, HasSubstr("from=1699999200000&to=1700002800000"));
  }
  EXPECT_EQ(Events(), 60u);
  EXPECT_EQ(SumOf("HOURS"), 60);
}

TEST_F(BucketCutTest, BoundsThatAreNamedDo) {
  EXPECT_THAT(Remove(15, 150).body, HasSubstr("or from=1700002800000&to=1700006400000, which"));
  const Response answer = Remove(0, 60);
  EXPECT_EQ(answer.status, 200u) << answer.body;
  EXPECT_EQ(Events(), 0u);
  EXPECT_EQ(SumOf("HOURS"), 0);
}

TEST_F(BucketCutTest, AnOpenEndCutsNothing) {
  EXPECT_EQ(world_.Call(DeleteEvents, {"s"}, "host=x&to=" + std::to_string(kStart)).status, 200u);
  EXPECT_EQ(SumOf("HOURS"), 60);
  EXPECT_EQ(world_.Call(DeleteEvents, {"s"}, "host=x&from=" + std::to_string(kStart)).status, 200u);
  EXPECT_EQ(SumOf("HOURS"), 0);
}

TEST_F(BucketCutTest, WhoSaysSoKeepsTheSumAndIsToldOfIt) {
  const Response answer = Remove(0, 15, "&aggregates=keep");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["kept"], json::array({"HOURS"}));
  EXPECT_EQ(Events(), 45u);
  EXPECT_EQ(SumOf("HOURS"), 60);
  // What is not cut goes.
  EXPECT_FALSE(json::parse(Remove(0, 60, "&aggregates=keep").body).contains("kept"));
  EXPECT_EQ(SumOf("HOURS"), 0);
  EXPECT_EQ(Remove(0, 60, "&aggregates=drop").status, 400u);
}

class SeveralSumsTest : public BucketCutTest {
 protected:
  SeveralSumsTest()
      : BucketCutTest(std::string(kBucketCutTables) + R"(
[tables.WIDE]
stream = "s"
pattern = "aggregate"
row_key = "{host}"
families.T = { aggregate = "sum", bucket = "90m" }
columns = [{ family = "T", fields = ["v"] }]

[tables.ALL]
stream = "s"
pattern = "aggregate"
row_key = "all#{ts:day}"
families.T = { aggregate = "sum", bucket = "1h" }
columns = [{ family = "T", fields = ["v"] }]

[tables.PAGES]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.T = {}
flush = "5m"
columns = [{ family = "T", fields = ["v"] }]
)") {}
};

TEST_F(SeveralSumsTest, TheBoundsDoForAllOfThem) {
  const Response answer = Remove(0, 3);
  EXPECT_EQ(answer.status, 422u);
  // 1699999200000 is no multiple of 90 minutes: three hours are what all of them divide.
  EXPECT_THAT(answer.body, HasSubstr("from=1699995600000&to=1700006400000"));
}

TEST_F(SeveralSumsTest, ATableWhoseKeysDoNotTellTheEntityIsKeptOrRefused) {
  const std::string range = "host=x&from=1699995600000&to=1700006400000";
  const Response refused = world_.Call(DeleteEvents, {"s"}, range);
  EXPECT_EQ(refused.status, 422u);
  EXPECT_THAT(refused.body, HasSubstr("aggregates=keep"));
  const Response answer = world_.Call(DeleteEvents, {"s"}, range + "&aggregates=keep");
  ASSERT_EQ(answer.status, 200u) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["kept"], json::array({"ALL"}));
  EXPECT_EQ(SumOf("ALL"), 60);
  EXPECT_EQ(SumOf("HOURS") + SumOf("WIDE"), 0);
}

TEST_F(SeveralSumsTest, AnIntervalOfHeldCountersIsABucketToo) {
  const json kept = json::parse(Remove(0, 3, "&aggregates=keep").body)["kept"];
  EXPECT_EQ(kept, (json::array({"HOURS", "WIDE", "ALL", "PAGES"})));
  EXPECT_EQ(json::parse(Remove(0, 5, "&aggregates=keep").body)["kept"],
            (json::array({"HOURS", "WIDE", "ALL"})));
}

}  // namespace
}  // namespace tallyd
