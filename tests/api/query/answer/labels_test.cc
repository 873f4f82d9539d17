// Labels of a key in answers: columns, filters, groups, values, and removals by them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kLabelled[] = R"(
[streams.s]
labels = ["host", "rack"]
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{m}#{labels}#{ts:ms}"
families.F = {}
[tables.L]
stream = "s"
pattern = "latest"
row_key = "{m}#{labels}"
families.F = {}
)";

class LabelAnswersTest : public testing::Test {
 protected:
  LabelAnswersTest() : world_(kLabelled) {
    EXPECT_EQ(world_
                  .Post("s", R"([{"m":"cpu","host":"a","rack":"1","ts":1000,"v":1,"w":7},
                                 {"m":"cpu","host":"b","ts":1000,"v":2},
                                 {"m":"cpu","ts":2000,"v":3},
                                 {"m":"mem","host":"a","ts":3000,"v":4}])")
                  .status,
              200u);
  }

  json Ask(Handler handler, const std::string& query, unsigned status = 200) {
    const Response response = world_.Call(handler, {"s"}, query);
    EXPECT_EQ(response.status, status) << query << ": " << response.body;
    return json::parse(response.body);
  }

  ApiWorld world_;
};

TEST_F(LabelAnswersTest, AreColumnsBehindTheFieldsThatTheKeyNames) {
  const json answer = Ask(GetEvents, "m=cpu&fields=v");
  EXPECT_EQ(answer["columns"], json::parse(R"(["ts","m","host","rack","v"])"));
  EXPECT_EQ(answer["rows"], json::parse(R"([[1000,"cpu","a","1",1],[1000,"cpu","b",null,2],
                                            [2000,"cpu",null,null,3]])"));
  EXPECT_FALSE(answer["plan"].contains("complete")) << answer["plan"];
}

TEST_F(LabelAnswersTest, FilterByTheirText) {
  const json rows = Ask(GetEvents, "m=cpu&host=a&fields=v")["rows"];
  EXPECT_EQ(rows, json::parse(R"([[1000,"cpu","a","1",1]])"));
  EXPECT_EQ(Ask(GetEvents, "m=cpu&rack=01&fields=v")["rows"].size(), 0u) << "no number";
  EXPECT_EQ(Ask(GetEvents, "m=cpu&where=host>=b&fields=v")["rows"].size(), 1u);
  EXPECT_EQ(Ask(GetEvents, "host=a&scan=1&fields=v")["rows"].size(), 2u);
}

TEST_F(LabelAnswersTest, ThatAreAskedForAloneGiveTheEventsThatHaveThem) {
  EXPECT_EQ(Ask(GetEvents, "m=cpu&fields=rack")["rows"].size(), 1u);
  EXPECT_EQ(Ask(GetEvents, "m=cpu&fields=w")["rows"].size(), 1u);
}

TEST_F(LabelAnswersTest, GroupSteps) {
  const json answer = Ask(GetEvents, "m=cpu&fields=v&step=10s&agg=sum&by=host");
  EXPECT_EQ(answer["rows"].size(), 3u) << answer;
}

TEST_F(LabelAnswersTest, OfTheLatestRowsComeBackToo) {
  const json answer = Ask(GetLatest, "m=cpu&host=b");
  ASSERT_EQ(answer["rows"].size(), 1u) << answer;
}

TEST_F(LabelAnswersTest, HaveValues) {
  EXPECT_EQ(Ask(ListValues, "field=host")["values"], json::parse(R"(["a","b"])"));
  EXPECT_EQ(Ask(ListValues, "field=host&prefix=b")["values"], json::parse(R"(["b"])"));
  EXPECT_THAT(Ask(ListValues, "field=v", 422)["detail"].get<std::string>(), HasSubstr("host"));
}

TEST_F(LabelAnswersTest, SayWhoseEventsAreRemoved) {
  EXPECT_EQ(world_.Call(DeleteEvents, {"s"}, "host=a").status, 200u);
  EXPECT_EQ(Ask(GetEvents, "scan=1&fields=v")["rows"].size(), 2u);
  EXPECT_EQ(Ask(GetLatest, "")["rows"].size(), 2u);
}

TEST_F(LabelAnswersTest, NoFilterOnAFieldNamedAsThePlaceholderRemovesAll) {
  ASSERT_EQ(world_.Post("s", R"({"m":"cpu","labels":"x","host":"c","ts":4000,"v":5})").status,
            200u);
  EXPECT_EQ(world_.Call(DeleteEvents, {"s"}, "labels=x").status, 400u);
  EXPECT_EQ(world_.Call(DeleteEvents, {"s"}, "m=cpu&labels=x").status, 422u);
  EXPECT_EQ(Ask(GetEvents, "scan=1&fields=v")["rows"].size(), 5u);
}

}  // namespace
}  // namespace tallyd
