// What a principal with a scope is told: its own rows, as if there were no others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ingest/text/json.h"
#include "tests/api/api_world.h"
#include "tests/api/change_row.h"

namespace tallyd {
namespace {

constexpr const char* kScopedReadsTables = R"(
[tables.BY_TENANT]
stream = "s"
pattern = "single-timestamp"
row_key = "{tenant}#{host}#{ts:ms}"
families.M = {}
[tables.BY_DAY]
stream = "s"
pattern = "single-timestamp"
row_key = "{ts:day}#{tenant:salt(3)}#{tenant}#{host}#{ts:ms}"
families.M = {}
[tables.BY_HOST]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.M = {}
[tables.NEWEST]
stream = "s"
pattern = "latest"
row_key = "{host}#{tenant}"
families.M = {}
)";

const std::string kThen = "&from=1500000000000&to=1500100000000";

PrincipalPtr OfTenant(const std::string& tenant) {
  return std::make_shared<const Principal>(
      Principal{.name = "t", .roles = {Role::kRead}, .scope = {{"tenant", tenant}}});
}

class ScopedReads : public ::testing::Test {
 protected:
  ScopedReads() {
    std::string events;
    for (const char* const tenant : {"acme", "acme2", "zeta"}) {
      for (int i = 0; i < 3; ++i) {
        events += fmt::format(R"({{"tenant":"{0}","host":"{0}-h{1}","v":{1},"ts":{2}}})", tenant, i,
                              1'500'000'000'000 + i * 1000);
      }
    }
    EXPECT_EQ(world_.Post("s", "[" + Joined(events) + "]").status, 200u);
    world_.ActAs(OfTenant("acme"));
  }

  static std::string Joined(std::string events) {
    for (size_t at = 0; (at = events.find("}{", at)) != events.npos;) events.insert(at + 1, ",");
    return events;
  }
  std::string Get(Handler handler, std::vector<std::string> arguments,
                  const std::string& query = "") {
    return BodyOf(world_.Call(handler, std::move(arguments), query));
  }
  // No byte of it is of others: "acme2" holds "acme", which is why it is looked for first.
  static void ExpectOwn(const std::string& body) {
    EXPECT_EQ(body.find("acme2"), body.npos) << body;
    EXPECT_EQ(body.find("zeta"), body.npos) << body;
  }
  static size_t CountOf(const std::string& body, const std::string& part) {
    size_t count = 0;
    for (size_t at = 0; (at = body.find(part, at)) != body.npos; ++at) ++count;
    return count;
  }

  ApiWorld world_{kScopedReadsTables};
};

TEST_F(ScopedReads, GiveItsOwnEventsFromEachTable) {
  for (const char* const table : {"BY_TENANT", "BY_DAY"}) {
    for (const char* const order : {"asc", "desc", "key"}) {
      const std::string body =
          Get(GetEvents, {"s"}, fmt::format("table={}&order={}{}", table, order, kThen));
      ExpectOwn(body);
      EXPECT_EQ(CountOf(body, "\"acme\""), 3u) << body;
    }
  }
}

TEST_F(ScopedReads, FindNothingOfAnotherWhomTheyNameInAFilter) {
  for (const char* const filter : {"tenant=acme2", "host=zeta-h1", "tenant=acme2&host=acme2-h1"}) {
    const std::string body = Get(GetEvents, {"s"}, filter);
    EXPECT_NE(body.find("\"rows\":[]"), body.npos) << body;
  }
}

TEST_F(ScopedReads, KnowNoTableWhoseKeyLacksTheField) {
  const Response hidden = world_.Call(GetTable, {"BY_HOST"});
  EXPECT_EQ(hidden.status, 404u);
  for (const char* const name : {"BY_HOST", "NOWHERE"}) {
    const std::string as_none = BodyOf(world_.Call(GetRows, {name}));
    EXPECT_EQ(world_.Call(GetRows, {name}).status, 404u);
    EXPECT_EQ(CountOf(as_none, "BY_HOST"), name == std::string("BY_HOST") ? 1u : 0u) << as_none;
    EXPECT_EQ(world_.Call(GetRow, {name, "acme-h1#1500000000000"}).status, 404u);
  }
  EXPECT_EQ(world_.Call(GetEvents, {"s"}, "table=BY_HOST").status, 404u);
  EXPECT_EQ(world_.Call(GetHeatmap, {}, "table=BY_HOST").status, 404u);
  EXPECT_EQ(Get(ListTables, {}).find("BY_HOST"), std::string::npos);
  EXPECT_EQ(Get(ListStreams, {}).find("BY_HOST"), std::string::npos);
  EXPECT_EQ(Get(GetPlan, {"s"}, "host=acme-h1").find("BY_HOST"), std::string::npos);
}

TEST_F(ScopedReads, GiveRowsOfTheirOwnInEveryOrderAndRange) {
  for (const char* const table : {"BY_TENANT", "BY_DAY", "NEWEST"}) {
    for (const char* const query : {"", "reverse=1", "start=0", "limit=100", "format=ndjson",
                                    "format=csv", "value=1", "end=~"}) {
      const std::string body = Get(GetRows, {table}, query);
      ExpectOwn(body);
      EXPECT_NE(body.find("acme"), body.npos) << query << ' ' << body;
    }
  }
  EXPECT_EQ(Get(GetRows, {"BY_TENANT"}, "prefix=acme2"), R"({"rows":[],"next":null})");
}

TEST_F(ScopedReads, GiveTheSameWholePagesThatALonelyTenantHas) {
  std::string cursor;
  size_t rows = 0;
  for (int page = 0; page < 3; ++page) {
    const std::string body =
        Get(GetRows, {"NEWEST"}, "limit=1" + (cursor.empty() ? "" : "&cursor=" + cursor));
    ExpectOwn(body);
    rows += CountOf(body, "\"key\"");
    const Json next = Json::parse(body)["next"];
    ASSERT_EQ(next.is_null(), page == 2) << body;
    if (!next.is_null()) cursor = next.get<std::string>();
  }
  EXPECT_EQ(rows, 3u);
}

TEST_F(ScopedReads, AreClampedAgainOnThePageThatAnothersCursorBegins) {
  world_.ActAs(Anybody());
  const Json first = Json::parse(Get(GetRows, {"BY_TENANT"}, "limit=4"));
  const Json events = Json::parse(Get(GetEvents, {"s"}, "table=BY_TENANT&scan=1&limit=4"));
  world_.ActAs(OfTenant("acme"));
  EXPECT_EQ(Get(GetRows, {"BY_TENANT"}, "limit=4&cursor=" + first["next"].get<std::string>()),
            R"({"rows":[],"next":null})");
  ExpectOwn(Get(GetEvents, {"s"},
                "table=BY_TENANT&scan=1&limit=4&cursor=" + events["next"].get<std::string>()));
}

TEST_F(ScopedReads, TellARowOfAnotherLikeOneThatIsNotThere) {
  const std::string others = "acme2#acme2-h1#1500000001000";
  const Response hidden = world_.Call(GetRow, {"BY_TENANT", others});
  const Response absent = world_.Call(GetRow, {"BY_TENANT", "acme#nobody#1500000001000"});
  EXPECT_EQ(hidden.status, 404u);
  EXPECT_EQ(hidden.body, absent.body);
  EXPECT_EQ(world_.Call(GetRow, {"BY_TENANT", "acme#acme-h1#1500000001000"}).status, 200u);
}

TEST_F(ScopedReads, ListTheValuesOfTheirOwnRows) {
  EXPECT_EQ(Get(ListValues, {"s"}, "field=tenant"), R"({"values":["acme"],"next":null})");
  EXPECT_EQ(Get(ListValues, {"s"}, "field=host"),
            R"({"values":["acme-h0","acme-h1","acme-h2"],"next":null})");
  EXPECT_EQ(Get(ListValues, {"s"}, "field=host&prefix=z"), R"({"values":[],"next":null})");
}

TEST_F(ScopedReads, GiveTheLatestOfTheirOwn) {
  const std::string body = Get(GetLatest, {"s"});
  ExpectOwn(body);
  EXPECT_EQ(CountOf(body, "\"acme\""), 3u) << body;
}

TEST_F(ScopedReads, AggregateTheirOwnAlone) {
  const std::string body = Get(GetEvents, {"s"}, "step=1h&agg=count&agg=sum&fields=v");
  EXPECT_EQ(Json::parse(body)["rows"].dump(), "[[1499997600000,3,3]]") << body;
}

TEST_F(ScopedReads, AreTheirOwnWhenTheirRowsAreSealed) {
  ASSERT_TRUE(world_.context().store.Settle());
  const std::string body =
      Get(GetEvents, {"s"}, "table=BY_DAY&step=1h&agg=count&agg=sum&fields=v&by=tenant" + kThen);
  EXPECT_EQ(Json::parse(body)["rows"].dump(), R"([[1499997600000,"acme",3,3]])") << body;
  ExpectOwn(Get(GetEvents, {"s"}, "table=BY_DAY" + kThen));
  ExpectOwn(Get(GetRows, {"BY_DAY"}));
}

TEST_F(ScopedReads, TellNoCountOfATable) {
  const Json table = Json::parse(Get(GetTable, {"BY_TENANT"}));
  EXPECT_TRUE(table["rows"].is_null());
  EXPECT_TRUE(table["disk_bytes"].is_null());
  EXPECT_TRUE(table["merged_events"].is_null());
  const std::string plan = Get(GetPlan, {"s"});
  EXPECT_EQ(plan.find("estimated"), plan.npos) << plan;
  EXPECT_EQ(plan.find("cost"), plan.npos) << plan;
}

TEST_F(ScopedReads, MapTheHeatOfTheirOwnPrefixes) {
  const std::string body = Get(GetHeatmap, {}, "table=BY_TENANT");
  ExpectOwn(body);
  EXPECT_EQ(CountOf(body, "\"start\":\"acme#acme-h"), 3u) << body;
  EXPECT_EQ(Json::parse(Get(GetHeatmap, {}, "table=BY_DAY"))["ranges"].size(), 0u);
}

// The plan that acme has, of a table whose rules change; another tenant's event came so much after
// its own.
std::string PlanAfterReload(const std::string& before, const std::string& after,
                            TimeUs others_later) {
  const std::string table =
      "[tables.T]\nstream = \"s\"\npattern = \"single-timestamp\"\n"
      "row_key = \"{tenant}#{host}#{ts:ms}\"\n";
  ApiWorld world(table + before);
  const TimeUs now = world.clock().now / 1000;
  for (const auto& [tenant, later] : {std::pair{"acme", TimeUs{0}}, {"acme2", others_later}}) {
    const std::string event =
        fmt::format(R"({{"tenant":"{}","host":"h","v":1,"ts":{}}})", tenant, now + later);
    EXPECT_EQ(world.Post("s", event).status, 200u);
  }
  world.clock().now += TimeUs{86'400'000'000};
  EXPECT_TRUE(world.Reload(table + after));
  world.ActAs(OfTenant("acme"));
  return BodyOf(world.Call(GetPlan, {"s"}, "tenant=acme"));
}

TEST_F(ScopedReads, TellNoTimeOfOthersByWhatATableForgot) {
  const std::string before = "families.M = { max_age = \"1h\" }\n";
  const std::string after = "families.M = {}\n";
  const std::string plan = PlanAfterReload(before, after, 1000);
  EXPECT_EQ(plan, PlanAfterReload(before, after, 60'000));
  EXPECT_NE(plan.find("may have kept less before its rules changed"), plan.npos) << plan;
}

TEST_F(ScopedReads, TellOfACappedTableThatItMayLackTheOldestWhetherOrNotItDoes) {
  const std::string rules = "max_bytes = \"1GiB\"\nfamilies.M = {}\n";
  const std::string plan = PlanAfterReload(rules, rules, 1000);
  EXPECT_NE(plan.find("may let the oldest go, by max_bytes"), plan.npos) << plan;
}

TEST_F(ScopedReads, HideAKeyThatNoEventCanHave) {
  world_.ActAs(Anybody());
  EXPECT_EQ(ChangeRow(world_, "BY_TENANT", "acme#x",
                      R"({"set":{"family":"M","qualifier":"v","ts":1,"value":7}})")
                .status,
            200u);
  world_.ActAs(OfTenant("acme"));
  EXPECT_EQ(Get(GetRows, {"BY_TENANT"}, "prefix=acme%23x"), R"({"rows":[],"next":null})");
  EXPECT_EQ(world_.Call(GetRow, {"BY_TENANT", "acme#x"}).status, 404u);
}

}  // namespace
}  // namespace tallyd
