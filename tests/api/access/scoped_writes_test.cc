// What a principal with a scope may write and remove: its own, and nothing else changes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ingest/text/json.h"
#include "tests/api/api_world.h"
#include "tests/api/change_row.h"

namespace tallyd {
namespace {

constexpr const char* kScopedWritesTables = R"(
[tables.BY_TENANT]
stream = "s"
pattern = "single-timestamp"
row_key = "{tenant}#{host}#{ts:ms}"
families.M = {}
[tables.BY_DAY]
stream = "s"
pattern = "single-timestamp"
row_key = "{ts:day}#{tenant}#{host}#{ts:ms}"
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

PrincipalPtr WriterOf(const std::string& tenant) {
  return std::make_shared<const Principal>(Principal{
      .name = "t", .roles = {Role::kWrite, Role::kDelete}, .scope = {{"tenant", tenant}}});
}

std::string EventOf(const std::string& tenant, const std::string& host = "h", int second = 0) {
  return fmt::format(R"({{"tenant":"{}","host":"{}","v":{},"ts":{}}})", tenant, host, second,
                     1'500'000'000'000 + second * 1000);
}

class ScopedWrites : public ::testing::Test {
 protected:
  ScopedWrites() { world_.ActAs(WriterOf("acme")); }

  // Of all tables, as somebody who sees everything finds them.
  std::string Everything() {
    const PrincipalPtr before = world_.principal();
    world_.ActAs(Anybody());
    std::string all;
    for (const char* const table : {"BY_TENANT", "BY_DAY", "BY_HOST", "NEWEST"}) {
      all += BodyOf(world_.Call(GetRows, {table})) + "\n";
    }
    world_.ActAs(before);
    return all;
  }
  void PostAsAnybody(const std::string& events) {
    const PrincipalPtr before = world_.principal();
    world_.ActAs(Anybody());
    EXPECT_EQ(world_.Post("s", events).status, 200u);
    world_.ActAs(before);
  }

  ApiWorld world_{kScopedWritesTables};
};

TEST_F(ScopedWrites, StoreItsOwnEventsInEveryTable) {
  EXPECT_EQ(world_.Post("s", EventOf("acme")).status, 200u);
  EXPECT_NE(Everything().find("\"key\":\"h#1500000000000\""), std::string::npos);
}

TEST_F(ScopedWrites, RefuseABatchWholeThatHasAnEventOfAnother) {
  const std::string before = Everything();
  for (const char* const other : {"acme2", "acm", "", "ACME", "acme "}) {
    const Response response = world_.Post("s", "[" + EventOf("acme") + "," + EventOf(other) + "]");
    EXPECT_EQ(response.status, 403u) << other;
    EXPECT_NE(response.problem.find("tenant"), std::string::npos) << response.problem;
  }
  EXPECT_EQ(Everything(), before);
}

TEST_F(ScopedWrites, CountAnEventOfAnotherAmongTheErrorsOfAPartialBatch) {
  const Response response =
      world_.Post("s", "[" + EventOf("acme2") + "," + EventOf("acme") + "]", "partial=1");
  EXPECT_EQ(response.status, 200u);
  const Json answer = Json::parse(response.body);
  EXPECT_EQ(answer["events"], 1);
  EXPECT_EQ(answer["errors"][0]["index"], 0);
  EXPECT_EQ(answer["errors"][0]["field"], "tenant");
  EXPECT_EQ(Everything().find("acme2"), std::string::npos);
}

TEST_F(ScopedWrites, RefuseAnEventWithoutTheField) {
  EXPECT_EQ(world_.Post("s", R"({"host":"h","v":1,"ts":1500000000000})").status, 400u);
}

TEST_F(ScopedWrites, CompareAsText) {
  world_.ActAs(WriterOf("1"));
  const auto post = [this](const std::string& tenant) {
    return world_.Post("s", fmt::format(R"({{"tenant":{},"host":"h","v":1,"ts":1}})", tenant))
        .status;
  };
  EXPECT_EQ(post("1"), 200u);
  EXPECT_EQ(post("\"1\""), 200u);
  EXPECT_EQ(post("\"01\""), 403u);
  EXPECT_EQ(post("1.0"), 403u);
  EXPECT_EQ(post("true"), 403u);
}

TEST_F(ScopedWrites, ShowInADryRunTheTablesThatItSees) {
  const Response response = world_.Post("s", EventOf("acme"), "dry_run=1");
  EXPECT_EQ(response.status, 200u);
  const Json tables = Json::parse(response.body)["tables"];
  EXPECT_TRUE(tables.contains("BY_TENANT"));
  EXPECT_FALSE(tables.contains("BY_HOST"));
  EXPECT_EQ(world_.Post("s", EventOf("acme2"), "dry_run=1").status, 403u);
}

TEST_F(ScopedWrites, ChangeNoRowOfAnother) {
  PostAsAnybody("[" + EventOf("acme") + "," + EventOf("acme2") + "]");
  const std::string before = Everything();
  const char* const set = R"({"set":{"family":"M","qualifier":"v","ts":1,"value":7}})";
  for (const char* const key :
       {"acme2#h#1500000000000", "acme#x", "acme", "zeta#h#1500000000000"}) {
    EXPECT_EQ(ChangeRow(world_, "BY_TENANT", key, set).status, 403u) << key;
  }
  EXPECT_EQ(ChangeRow(world_, "BY_HOST", "h#1500000000000", set).status, 404u);
  EXPECT_EQ(Everything(), before);
  EXPECT_EQ(ChangeRow(world_, "BY_TENANT", "acme#h#1500000000000", set).status, 200u);
}

TEST_F(ScopedWrites, RemoveRowsOfItsOwnAlone) {
  PostAsAnybody("[" + EventOf("acme", "h1") + "," + EventOf("acme", "h2", 1) + "," +
                EventOf("acme2", "h1") + "," + EventOf("ab", "h1") + "]");
  EXPECT_EQ(world_.Call(DeleteRows, {"BY_TENANT"}, "prefix=acme2").status, 403u);
  EXPECT_EQ(world_.Call(DeleteRow, {"BY_TENANT", "acme2#h1#1500000000000"}).status, 403u);
  EXPECT_EQ(world_.Call(DeleteRow, {"BY_DAY", "20170714#acme2#h1#1500000000000"}).status, 403u);
  EXPECT_EQ(world_.Call(DeleteRows, {"BY_HOST"}, "prefix=h").status, 404u);
  EXPECT_EQ(world_.Call(DeleteRows, {"BY_TENANT"}, "prefix=a").status, 200u);
  EXPECT_EQ(world_.Call(DeleteRows, {"BY_DAY"}, "prefix=2017").status, 200u);
  const std::string left = Everything();
  for (const char* const gone : {"\"acme#h1#", "\"acme#h2#", "#acme#h"}) {
    EXPECT_EQ(left.find(gone), left.npos) << gone << ' ' << left;
  }
  for (const char* const kept : {"\"acme2#h1#", "\"ab#h1#", "#acme2#h1#", "#ab#h1#", "\"h2#15"}) {
    EXPECT_NE(left.find(kept), left.npos) << kept << ' ' << left;
  }
}

TEST_F(ScopedWrites, RemoveEventsOfItsOwnAlone) {
  PostAsAnybody("[" + EventOf("acme", "h") + "," + EventOf("acme2", "h", 1) + "]");
  const Response response = world_.Call(DeleteEvents, {"s"}, "host=h");
  EXPECT_EQ(response.status, 200u);
  EXPECT_EQ(response.body.find("BY_HOST"), std::string::npos) << response.body;
  const std::string left = Everything();
  EXPECT_EQ(left.find("\"acme#h#"), left.npos) << left;
  EXPECT_EQ(left.find("#acme#h#"), left.npos) << left;
  EXPECT_EQ(left.find("\"h#acme\""), left.npos) << left;
  EXPECT_NE(left.find("\"acme2#h#"), left.npos) << left;
  EXPECT_NE(left.find("\"h#acme2\""), left.npos) << left;
  EXPECT_NE(left.find("\"h#1500000000000\""), left.npos) << "a table that it does not see";
}

TEST_F(ScopedWrites, RemoveNothingOfAnotherWhomTheyName) {
  PostAsAnybody(EventOf("acme2"));
  const std::string before = Everything();
  EXPECT_EQ(world_.Call(DeleteEvents, {"s"}, "tenant=acme2").status, 200u);
  EXPECT_EQ(Everything(), before);
}

}  // namespace
}  // namespace tallyd
