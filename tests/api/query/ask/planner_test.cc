// Which of the tables that can answer does.
#include "service/query/ask/planner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/file/config.h"
#include "tests/api/query/query_fixture.h"

namespace tallyd {
namespace {

class PlannerTest : public QueryTest {};

TEST_F(PlannerTest, HistoryIsReadFromTheOldestOfTablesAddedInTurn) {
  const auto table = [](int i) {
    std::string text = kMetric;
    return text.replace(text.find("METRIC"), 6, "T" + std::to_string(i));
  };
  std::string tables;
  Begin(kMetric);
  for (int i = 0; i < 10; ++i) {
    tables = table(i) + tables;
    ASSERT_TRUE(world().Reload(tables));
    for (int event = 0; event < 5; ++event) Take(EventAt(100 - i * 5 - event, R"("n":1)"));
  }
  ExpectWhole("host=a", "T0", 50);
  tables.resize(tables.rfind("[tables.T0]"));
  ASSERT_TRUE(world().Reload(tables));
  ExpectPartial("host=a", "T1", "T1 joined the stream");
  EXPECT_EQ(Ask("host=a")["rows"].size(), 45u);
}

TEST_F(PlannerTest, WhatNoTableHoldsWholeComesFromTheFullest) {
  const auto only = [](const std::string& table, const std::string& fields) {
    return "[tables." + table + R"(]
stream = "server"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
columns = [{ family = "F", fields = [)" +
           fields + "] }]\nfamilies.F = {}\n";
  };
  Begin(only("NARROW", R"("a")") + only("WIDE", R"("a", "b")") + only("OTHER", R"("c")"));
  Take(EventAt(1, R"("a":1,"b":2,"c":3)"));
  ExpectPartial("host=a", "WIDE", "WIDE does not hold c");
  ExpectPartial("host=a&fields=a,b,c", "WIDE", "WIDE does not hold c");
  ExpectWhole("host=a&fields=a,b", "WIDE", 1);
  ExpectWhole("host=a&fields=c", "OTHER", 1);
}

TEST_F(PlannerTest, ThePlanTellsWhatEachCandidateWouldCost) {
  Begin(std::string(kMetric) + kByDay);
  for (int ts = 0; ts < 50; ++ts) Take(EventAt(ts, R"("n":1)"));
  const json plan = Ask("host=a&from=10.0&to=12.0", GetPlan);
  EXPECT_EQ(plan["table"], "METRIC") << plan;
  const json& chosen = plan["candidates"][0];
  const json& other = plan["candidates"][1];
  EXPECT_LT(chosen["cost"], other["cost"]);
  EXPECT_GT(chosen["estimated_bytes"], 0);
  EXPECT_EQ(chosen["estimated_rows"], 2);
  EXPECT_EQ(other["estimated_rows"], 1);
  EXPECT_NE(other["why_not"].get<std::string>().find("it costs more"), std::string::npos);
  EXPECT_FALSE(chosen.contains("why_not"));
}

TEST_F(PlannerTest, ABlockOfManyColumnsCostsMoreThanManyRows) {
  Begin(R"(
[tables.BUCKET]
stream = "server"
pattern = "new-column"
row_key = "{host}#{ts:day}"
columns = [{ family = "F", name = "{ts:%H%M}", value = "{n}" }]
families.F = {}
)" + std::string(kMetric));
  for (int host = 0; host < 8; ++host) {
    std::string events = "[";
    for (int i = 0; i < 96; ++i) {
      events += fmt::format(R"({}{{"host":"h{}","ts":{},"n":{}}})", i > 0 ? "," : "", host,
                            i * 900'000, i);
    }
    Take(events + "]");
  }
  ASSERT_TRUE(world().context().store.Settle());
  const json plan = Ask("host=h3&fields=n", GetPlan);
  EXPECT_EQ(plan["table"], "METRIC") << plan;
  EXPECT_EQ(plan["candidates"][0]["estimated_rows"], 1) << plan;
}

TEST_F(PlannerTest, ALatestTableThatTheStoreHasNotYetIsNamedWithTheReason) {
  Begin(kMetric);
  const Result<Config> config = ParseConfig(std::string(kMetric) + R"(
[tables.NOW]
stream = "server"
pattern = "latest"
row_key = "{host}"
families.F = {}
)",
                                            "test.toml");
  ASSERT_TRUE(config) << config.error().message();
  auto snapshot = std::make_shared<SchemaSnapshot>();
  snapshot->schema = config->schema;  // Ahead of the store.
  world().context().live_schema.Set(snapshot);
  const Response response = world().Call(GetLatest, {"server"}, "host=a");
  EXPECT_EQ(response.status, 503u) << response.body;
  EXPECT_NE(response.body.find("NOW: it is not in the store yet"), std::string::npos)
      << response.body;
}

}  // namespace
}  // namespace tallyd
