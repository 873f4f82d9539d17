// Events read back through the planner, the scan and the writers.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using nlohmann::json;

constexpr char kEventsTables[] = R"(
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}

[tables.BY_DAY]
stream = "server"
pattern = "new-cell"
row_key = "{ts:day}#{host}"
families.F = {}

[tables.NOW]
stream = "server"
pattern = "latest"
row_key = "{host}"
families.F = {}
)";

class EventsTest : public testing::Test {
 protected:
  EventsTest() : world_(kEventsTables) {
    std::string events = "[";
    for (int i = 0; i < 12; ++i) {
      if (i > 0) events += ",";
      events += R"({"host":")" + std::string(i % 2 == 0 ? "a" : "b") + R"(","ts":)" +
                std::to_string(1000 * (i / 2)) + R"(,"n":)" + std::to_string(i) + R"(,"x":)" +
                std::to_string(i) + ".5}";
    }
    EXPECT_EQ(world_.Post("server", events + "]").status, 200u);
  }

  json Events(const std::string& query, unsigned status = 200) {
    const Response response = world_.Call(GetEvents, {"server"}, query);
    EXPECT_EQ(response.status, status) << query << ": " << response.body;
    return json::parse(response.body);
  }

  ApiWorld world_;
};

TEST_F(EventsTest, ComeInOrderOfTimeWithTheirKeyFieldsFirst) {
  const json answer = Events("host=a&from=1000.0&to=3000.0");
  EXPECT_EQ(answer["columns"], json::parse(R"(["ts","host","n","x"])"));
  EXPECT_EQ(answer["rows"], json::parse(R"([[1000,"a",2,2.5],[2000,"a",4,4.5]])"));
  EXPECT_EQ(answer["plan"]["table"], "BY_DAY");  // One row holds them all.
  EXPECT_EQ(answer["plan"]["kind"], "range");
  EXPECT_TRUE(answer["next"].is_null());
}

TEST_F(EventsTest, AnAnswerWithoutRowsTellsWhatThereNeverWas) {
  const json unknown = Events("host=c");
  EXPECT_EQ(unknown["rows"], json::array());
  EXPECT_EQ(unknown["hint"], "host: there is no 'c'; the nearest are 'a', 'b'");
  EXPECT_EQ(
      Events("host=a*")["hint"],
      "host: there is no 'a*'; the nearest are 'a'; a filter is a whole value, in which * and "
      "? stand for themselves");
  EXPECT_EQ(
      Events("host=a,b")["hint"],
      "host: there is no 'a,b'; the nearest are 'a'; a filter is a whole value: host=A&host=B "
      "finds either of two");
  EXPECT_EQ(Events("host=c&step=1s&agg=max")["hint"], unknown["hint"]);
  const Response latest = world_.Call(GetLatest, {"server"}, "host=c");
  EXPECT_EQ(json::parse(latest.body)["hint"], unknown["hint"]);
}

TEST_F(EventsTest, AnAnswerThatAsksForWhatThereIsHasNoHint) {
  for (const char* query : {"host=a", "host=a&host=c", "host=a&from=2026-01-01T00:00:00Z",
                            "host=a&n=99", "host=a&host=c&n=99"}) {
    EXPECT_FALSE(Events(query).contains("hint")) << query;
  }
}

TEST_F(EventsTest, AValueThatIsOneOfVeryManyIsNotCalledUnknown) {
  std::string events = "[";
  for (int i = 0; i < 700; ++i) {
    if (i > 0) events += ",";
    events += R"({"host":"m)" + std::to_string(1000 + i) + R"(","ts":1000,"n":1})";
  }
  ASSERT_EQ(world_.Post("server", events + "]", "guards=off").status, 200u);
  EXPECT_FALSE(Events("host=m1650&from=2026-01-01T00:00:00Z").contains("hint"));
  const std::string hint = Events("host=m165x")["hint"];
  EXPECT_EQ(hint.rfind("host: there is no 'm165x'; the nearest are 'm1", 0), 0u) << hint;
}

TEST_F(EventsTest, AreTheSameFromEveryTable) {
  for (const char* query : {"host=a", "host=b&from=2000.0", "from=0&to=10000.0&fields=n",
                            "host=a&host=b&n=3", "host=a&order=desc"}) {
    const json metric = Events(std::string(query) + "&scan=1&table=METRIC");
    const json by_day = Events(std::string(query) + "&scan=1&table=BY_DAY");
    EXPECT_EQ(metric["columns"], by_day["columns"]) << query;
    EXPECT_EQ(metric["rows"], by_day["rows"]) << query;
    EXPECT_FALSE(metric["rows"].empty()) << query;
  }
}

TEST_F(EventsTest, StepsOfATimeThatIsEmptyAreNone) {
  for (const char* table : {"METRIC", "BY_DAY"}) {
    const json answer =
        Events("host=a&from=3000.0&to=3000.0&step=1m&agg=max&table=" + std::string(table));
    EXPECT_TRUE(answer["rows"].empty()) << table;
  }
}

TEST_F(EventsTest, PagesJoinedAreTheWholeInBothOrders) {
  for (const std::string order : {"asc", "desc"}) {
    const std::string query = "scan=1&order=" + order;
    const json whole = Events(query)["rows"];
    for (const std::string limit : {"1", "3", "5", "12"}) {
      json joined = json::array();
      std::string cursor;
      do {
        const json page = Events(query + "&limit=" + limit + cursor);
        for (const json& row : page["rows"]) joined.push_back(row);
        cursor = page["next"].is_null() ? "" : "&cursor=" + page["next"].get<std::string>();
      } while (!cursor.empty());
      EXPECT_EQ(joined, whole) << order << " " << limit;
    }
  }
}

TEST_F(EventsTest, ACursorOfAnotherQueryIsRefused) {
  const std::string next = Events("host=a&limit=1")["next"];
  Events("host=b&limit=1&cursor=" + next, 400);
  Events("host=a&limit=1&cursor=x" + next, 400);
  Events("host=a&limit=1&cursor=!", 400);
}

TEST_F(EventsTest, AQueryThatWouldReadAWholeTableSaysWhatWouldNot) {
  const json problem = Events("n=3", 422);
  EXPECT_NE(problem["detail"].get<std::string>().find("host"), std::string::npos);
  EXPECT_EQ(Events("n=3&scan=1")["plan"]["kind"], "scan");
}

TEST_F(EventsTest, ATimeRangeAloneIsARangeOfTheTableThatBeginsWithTime) {
  EXPECT_EQ(Events("from=0&to=3000.0")["plan"]["table"], "BY_DAY");
}

struct RefusedQuery {
  const char* query;
  unsigned status;
};

TEST_F(EventsTest, MistakesAreNamed) {
  for (const RefusedQuery& refused :
       {RefusedQuery{"hots=a", 400},
        RefusedQuery{"host=a&limit=0", 400},
        RefusedQuery{"host=a&limit=1000001", 400},
        RefusedQuery{"host=a&order=up", 400},
        RefusedQuery{"host=a&from=yesterday", 400},
        RefusedQuery{"host=a&step=1m", 400},
        RefusedQuery{"host=a&agg=max", 400},
        RefusedQuery{"host=a&step=1m&agg=p98", 400},
        RefusedQuery{"host=a&where=n", 400},
        RefusedQuery{"host=a&table=NONE", 404},
        RefusedQuery{"host=a&table=NOW", 422},
        RefusedQuery{"host=a&fields=nothing", 400},
        RefusedQuery{"host=a&fill=0", 400},
        RefusedQuery{"host=a&step=1m&agg=max&fill=1", 400},
        RefusedQuery{"host=a&top=0&fields=n", 400},
        RefusedQuery{"host=a&top=3", 400},
        RefusedQuery{"host=a&top=10001&fields=n", 400},
        RefusedQuery{"host=a&top=3&fields=n,x", 400},
        RefusedQuery{"host=a&top=3&fields=host", 400},
        RefusedQuery{"host=a&step=1m&agg=max&fields=n&top=3", 400},
        RefusedQuery{"host=a&step=1m&agg=max,min&fields=n&by=host&top=3", 400},
        RefusedQuery{"host=a&step=1m&agg=max&by=host&top=3", 400},
        RefusedQuery{"host=a&step=1s&agg=max&fill=0&from=0&to=2020-01-01T00:00:00Z", 422},
        RefusedQuery{"host=a&format=xml", 400}}) {
    const json problem = Events(refused.query, refused.status);
    EXPECT_EQ(problem["status"], refused.status) << refused.query;
    EXPECT_FALSE(problem["detail"].get<std::string>().empty()) << refused.query;
  }
}

TEST_F(EventsTest, AMisspelledParameterIsToldWhatThereIs) {
  const std::string said = Events("host=a&limt=5", 400)["detail"];
  EXPECT_NE(said.find("has no field 'limt'"), said.npos) << said;
  EXPECT_NE(said.find("; the parameters beside fields are from, to, fields, limit, order, step, "),
            said.npos)
      << said;
}

TEST_F(EventsTest, APlusThatBecameASpaceIsTold) {
  const std::string said = Events("host=a&from=2015-03-16T19:53:32+01:00", 400)["detail"];
  EXPECT_TRUE(said.ends_with("; in a URL a plus is written %2B")) << said;
}

TEST_F(EventsTest, StepsHoldWhatADirectComputationGives) {
  const json answer =
      Events("host=a&from=0&to=6000.0&step=2s&agg=min,max,sum,count,avg,first,last&fields=n");
  EXPECT_EQ(answer["columns"],
            json::parse(R"(["ts","n:min","n:max","n:sum","n:count","n:avg","n:first","n:last"])"));
  EXPECT_EQ(answer["rows"], json::parse("[[0,0,2,2,2,1.0,0,2],[2000,4,6,10,2,5.0,4,6],"
                                        "[4000,8,10,18,2,9.0,8,10]]"));
}

TEST_F(EventsTest, GroupsAreBesideEachOther) {
  const json answer = Events("scan=1&step=1h&agg=max&fields=n&by=host");
  EXPECT_EQ(answer["columns"], json::parse(R"(["ts","host","n"])"));
  EXPECT_EQ(answer["rows"], json::parse(R"([[0,"a",10],[0,"b",11]])"));
}

TEST_F(EventsTest, GapsAreFilledBetweenTheEndsOrOverTheRangeThatIsAsked) {
  const std::string query = "host=a&step=1s&agg=max&fields=n&where=n!=4";
  EXPECT_EQ(Events(query + "&to=4000.0&fill=linear")["rows"],
            json::parse("[[0,0],[1000,2],[2000,4],[3000,6]]"));
  EXPECT_EQ(Events(query + "&from=1500.0&to=4500.0&fill=previous")["rows"],
            json::parse("[[1000,null],[2000,null],[3000,6],[4000,8]]"));
  EXPECT_EQ(Events(query + "&from=7000.0&to=9000.0&fill=0")["rows"],
            json::parse("[[7000,0],[8000,0]]"));
  EXPECT_EQ(Events(query + "&from=7000.0&to=9000.0&fill=0&by=host")["rows"], json::array());
  EXPECT_EQ(Events(query + "&from=7000.0&to=7000.0&fill=0")["rows"], json::array());
  EXPECT_EQ(BodyOf(world_.Call(GetEvents, {"server"},
                               query + "&from=1500.0&to=3500.0&fill=null&format=csv")),
            "ts,n\r\n1000,\r\n2000,\r\n3000,6\r");
}

TEST_F(EventsTest, TheGreatestComeInTheOrderOfOthers) {
  const json greatest = json::parse(R"([[4000,"b",9],[5000,"a",10],[5000,"b",11]])");
  EXPECT_EQ(Events("scan=1&top=3&fields=n")["rows"], greatest);
  EXPECT_EQ(Events("scan=1&top=3&fields=n&order=desc")["rows"],
            json(std::vector<json>(greatest.rbegin(), greatest.rend())));
  EXPECT_EQ(Events("scan=1&top=100&fields=n")["rows"].size(), 12u);
  EXPECT_EQ(Events("scan=1&step=1h&agg=max&fields=n&by=host&top=1")["rows"],
            json::parse(R"([[0,"b",11]])"));
  const json latest = json::parse(BodyOf(world_.Call(GetLatest, {"server"}, "top=1&fields=n")));
  EXPECT_EQ(latest["rows"], json::parse(R"([[5000,"b",11]])"));
}

TEST_F(EventsTest, OfEqualNumbersTheEarlierIsKept) {
  ASSERT_EQ(world_
                .Post("server", R"([{"host":"a","ts":9,"e":1},{"host":"b","ts":9,"e":1},
                                      {"host":"a","ts":8,"e":1},{"host":"b","ts":8,"e":0}])")
                .status,
            200u);
  for (const std::string order : {"asc", "desc"}) {
    const json rows = Events("scan=1&top=2&fields=e&order=" + order)["rows"];
    EXPECT_EQ(rows[order == "asc" ? 0 : 1], json::parse(R"([8,"a",1])")) << rows;
    EXPECT_EQ(rows[order == "asc" ? 1 : 0], json::parse(R"([9,"a",1])")) << rows;
  }
}

TEST_F(EventsTest, GrowthGoesOnFromTheStepBefore) {
  const std::string query = "host=a&fields=n&step=2s&agg=increase";
  EXPECT_EQ(Events(query)["rows"], json::parse("[[0,2],[2000,4],[4000,4]]"));
  const json page = Events(query + "&limit=1");
  EXPECT_EQ(Events(query + "&limit=1&cursor=" + page["next"].get<std::string>())["rows"],
            json::parse("[[2000,4]]"));
  EXPECT_EQ(Events("host=a&fields=n&step=2s&agg=rate")["rows"],
            json::parse("[[0,1.0],[2000,2.0],[4000,2.0]]"));
}

TEST_F(EventsTest, NdjsonCanBePostedAgain) {
  const std::string lines =
      BodyOf(world_.Call(GetEvents, {"server"}, "host=a&to=1000.0&format=ndjson"));
  EXPECT_EQ(json::parse(lines), json::parse(R"({"ts":0,"host":"a","n":0,"x":0.5})"));
  EXPECT_EQ(world_.Post("server", lines).status, 200u);
  EXPECT_EQ(Events("host=a")["rows"].size(), 6u);
}

TEST_F(EventsTest, CsvHasAHeaderLine) {
  const Response response = world_.Call(GetEvents, {"server"}, "host=a&to=1000.0", "text/csv");
  EXPECT_EQ(response.content_type.substr(0, 8), "text/csv");
  EXPECT_EQ(response.body, "ts,host,n,x\r\n0,a,0,0.5\r\n");
}

TEST_F(EventsTest, TheLatestOfEveryHostComesInKeyOrder) {
  const json answer = json::parse(world_.Call(GetLatest, {"server"}).body);
  EXPECT_EQ(answer["rows"], json::parse(R"([[5000,"a",10,10.5],[5000,"b",11,11.5]])"));
  EXPECT_EQ(world_.Call(GetLatest, {"nothing"}).status, 404u);
}

TEST_F(EventsTest, ThePlanTellsEveryCandidate) {
  const json plan = json::parse(world_.Call(GetPlan, {"server"}, "host=a").body);
  EXPECT_EQ(plan["table"], "METRIC");
  EXPECT_EQ(plan["candidates"].size(), 3u);
}

TEST(NarrowTablesTest, WithoutFieldsATableThatHoldsAllOfThemIsChosen) {
  ApiWorld world(R"(
[tables.CPU_ONLY]
stream = "server"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
columns = [{ family = "F", fields = ["CPU/*"] }]
families.F = {}

[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
)");
  ASSERT_EQ(world
                .Post("server", R"([{"host":"a","ts":1,"CPU/A":1},
                                     {"host":"a","ts":2,"IO/B":2}])")
                .status,
            200u);
  const auto ask = [&](const std::string& query) {
    return json::parse(BodyOf(world.Call(GetEvents, {"server"}, query)));
  };
  const json all = ask("host=a");
  EXPECT_EQ(all["plan"]["table"], "METRIC");
  EXPECT_EQ(all["rows"], json::parse(R"([[1,"a",1,null],[2,"a",null,2]])"));
  EXPECT_EQ(ask("host=a&fields=CPU/A")["plan"]["table"], "CPU_ONLY") << "less to read";
  EXPECT_EQ(ask("host=a&table=CPU_ONLY")["rows"].size(), 1u);
  EXPECT_EQ(ask("host=a&fields=CPU/A&where=CPU/A>0")["plan"]["table"], "CPU_ONLY");
  EXPECT_EQ(ask("host=a&fields=CPU/A&where=IO/B>0")["plan"]["table"], "METRIC");
}

TEST(EventOrderTest, TiesComeInTheOrderOfTheirKeys) {
  ApiWorld world(R"(
[tables.WEATHER]
stream = "server"
pattern = "single-timestamp"
row_key = "{region}#{station:zero(3)}#{field}#{ts:ms}"
columns = [{ family = "F", name = "v", value = "{value}" }]
families.F = {}
)");
  ASSERT_EQ(world
                .Post("server", R"([{"region":"us-west2","station":10,"ts":1,"p":1},
                                     {"region":"us-west2","station":9,"ts":1,"p":2},
                                     {"region":"asia-south2","station":10,"ts":1,"p":3}])")
                .status,
            200u);
  const json answer = json::parse(
      BodyOf(world.Call(GetEvents, {"server"}, "region=us-west2&region=asia-south2&fields=p")));
  std::vector<int> order;
  for (const json& row : answer["rows"]) order.push_back(row.back());
  EXPECT_EQ(order, (std::vector<int>{3, 2, 1}));
}

}  // namespace
}  // namespace tallyd
