// Fields that stand in a row key without being given back by it: a second time, a salt, the time
// itself without a spec. Every part of a query has to see them alike.
#include "service/query/scan/event_filter.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using nlohmann::json;

class SecondTimeTest : public testing::Test {
 protected:
  SecondTimeTest() : world_(kTables) {
    EXPECT_EQ(world_
                  .Post("order", R"([{"host":"a","ts":1,"due":1501027200000,"n":1},
                                     {"host":"a","ts":2,"due":1501113600000,"n":2}])")
                  .status,
              200u);
  }
  json Events(const std::string& query, unsigned status = 200) {
    const Response response = world_.Call(GetEvents, {"order"}, query);
    EXPECT_EQ(response.status, status) << query << ": " << response.body;
    return json::parse(response.body);
  }

  static constexpr char kTables[] = R"(
[tables.ORDER]
stream = "order"
pattern = "single-timestamp"
row_key = "{host}#{due:day}#{ts:ms}"
families.F = {}
)";
  ApiWorld world_;
};

TEST_F(SecondTimeTest, IsAFilterOfItsOwnValue) {
  const json answer = Events("host=a&due=1501027200000");
  EXPECT_EQ(answer["columns"], json::parse(R"(["ts","host","due","n"])"));
  EXPECT_EQ(answer["rows"], json::parse(R"([[1,"a",1501027200000,1]])"));
}

TEST_F(SecondTimeTest, IsAnsweredOnlyWhereItIsAskedFor) {
  EXPECT_EQ(Events("host=a&fields=n")["columns"], json::parse(R"(["ts","host","n"])"));
  EXPECT_EQ(Events("host=a&fields=due")["columns"], json::parse(R"(["ts","host","due"])"));
}

TEST_F(SecondTimeTest, IsAggregatedAsAMeasuredField) {
  const json answer = Events("host=a&step=1h&agg=max&fields=due");
  EXPECT_EQ(answer["columns"], json::parse(R"(["ts","due"])"));
  EXPECT_EQ(answer["rows"], json::parse("[[0,1501113600000]]"));
}

TEST_F(SecondTimeTest, HasNoValuesInTheKeyToList) {
  const Response response = world_.Call(ListValues, {"order"}, "field=due");
  EXPECT_EQ(response.status, 422u) << response.body;
}

TEST_F(SecondTimeTest, CannotTellWhoseRowsToDelete) {
  const Response response = world_.Call(DeleteEvents, {"order"}, "host=a&due=1501027200000");
  EXPECT_EQ(response.status, 422u) << response.body;
  EXPECT_EQ(Events("host=a")["rows"].size(), 2u);
}

TEST(TimeInKeyTest, WithoutASpecIsNoColumnOfItsOwn) {
  ApiWorld world(R"(
[streams.s]
time = "at"
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{at}"
families.F = {}
)");
  EXPECT_EQ(world.Post("s", R"({"host":"a","at":7,"n":1})").status, 200u);
  const Response response = world.Call(GetEvents, {"s"}, "host=a", "text/csv");
  EXPECT_EQ(response.body, "ts,host,n\r\n7,a,1\r\n");
}

TEST(TimeInColumnTest, ThatIsNotGivenBackIsNoFilter) {
  ApiWorld world(R"(
[tables.T]
stream = "s"
pattern = "new-column"
row_key = "{host}#{ts:day}"
columns = [{ family = "F", name = "{ts:%H%M}", value = "{v}" }]
families.F = {}
)");
  EXPECT_EQ(world.Post("s", R"({"host":"a","ts":60000,"v":1})").status, 200u);
  const Response response = world.Call(GetEvents, {"s"}, "host=a&ts=60000");
  EXPECT_EQ(response.status, 400u) << response.body;
}

// One of two tables has `id` in its key, where the other measures it.
class KeyFieldTest : public testing::Test {
 protected:
  KeyFieldTest() : world_(kTables) {
    EXPECT_EQ(world_
                  .Post("s", R"([{"host":"a","id":1,"ts":1,"n":1},{"host":"a","id":2,"ts":2,"m":1},
                                 {"host":"a","ts":3,"m":2}])")
                  .status,
              200u);
  }
  size_t Rows(const std::string& query) {
    const Response response = world_.Call(GetEvents, {"s"}, "host=a&" + query);
    EXPECT_EQ(response.status, 200u) << query << ": " << response.body;
    return json::parse(response.body)["rows"].size();
  }

  static constexpr char kTables[] = R"(
[tables.BY_ID]
stream = "s"
pattern = "single-timestamp"
when = ["id"]
row_key = "{host}#{id}#{ts:ms}"
families.F = {}
[tables.BY_HOST]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
[tables.BY_FIELD]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{field}#{ts:ms}"
families.F = {}
)";
  ApiWorld world_;
};

TEST_F(KeyFieldTest, IsNoReasonBesideAMeasuredOneWhicheverTableAnswers) {
  for (const char* table : {"&table=BY_ID", "&table=BY_HOST", "&table=BY_FIELD"}) {
    EXPECT_EQ(Rows(std::string("fields=id,n") + table), 1u) << table;
    EXPECT_EQ(Rows(std::string("fields=i*,n") + table), 1u) << table;
    EXPECT_EQ(Rows(std::string("fields=id") + table), 2u) << table;
  }
}

TEST_F(KeyFieldTest, OfEveryEventAsksForEveryEvent) {
  for (const char* table : {"&table=BY_HOST", "&table=BY_FIELD"}) {
    for (const char* fields : {"host", "h*", "host,id", "ts"}) {
      EXPECT_EQ(Rows("fields=" + std::string(fields) + table), 3u) << fields << table;
    }
  }
}

}  // namespace
}  // namespace tallyd
