// Which fields an answer's range has, of tables that keep them in different ways: what a header
// line of very many columns is made of.
#include "service/query/scan/field_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "service/query/run/event_run.h"
#include "tests/api/query/query_fixture.h"

namespace tallyd {
namespace {

constexpr char kInBlobs[] = R"(
[tables.BLOBS]
stream = "server"
pattern = "single-timestamp-serialized"
row_key = "{host}#{ts:ms}"
families.F = {}
)";

constexpr char kInDays[] = R"(
[tables.DAYS]
stream = "server"
pattern = "new-cell"
row_key = "{host}#{ts:day}"
families.F = {}
)";

constexpr char kByField[] = R"(
[tables.FIELDS]
stream = "server"
pattern = "single-timestamp"
row_key = "{host}#{field}#{ts:ms}"
families.F = {}
)";

constexpr char kNewest[] = R"(
[tables.NEWEST]
stream = "server"
pattern = "latest"
row_key = "{host}"
families.F = {}
)";

class FieldWalkTest : public QueryTest {
 protected:
  // Events of host m have very many names, those of host a a few, each its own.
  void Fill(const char* table) {
    Begin(table);
    json mistaken = json::array();
    for (int i = 0; i < 12; ++i) {
      json event = {{"host", "m"}, {"ts", 1'600'000'000'000 + i}};
      for (int n = 0; n < 100; ++n) event["m" + std::to_string(100 * i + n)] = n;
      mistaken.push_back(std::move(event));
    }
    Take(mistaken.dump());
    Take(R"([{"host":"a","ts":1600000000001,"n":1,"text":"x"},
             {"host":"a","ts":1600000000002,"n":2.5,"on":true},
             {"host":"b","ts":1600000000003,"other":1}])");
  }
  std::string BodyOfQuery(const std::string& query, Handler handler) {
    const Response response = world().Call(handler, {"server"}, query);
    EXPECT_EQ(response.status, 200u) << query << ": " << response.body;
    return response.body;
  }
  std::vector<std::string> HeaderOf(const std::string& query, Handler handler = GetEvents) {
    const std::string body = BodyOfQuery(query + "&format=csv", handler);
    std::istringstream line(body.substr(0, body.find('\r')));
    std::vector<std::string> names;
    for (std::string name; std::getline(line, name, ',');) names.push_back(name);
    return names;
  }
  // What the events themselves name, beside time and host.
  std::set<std::string> NamesOf(const std::string& query, Handler handler) {
    std::istringstream lines(BodyOfQuery(query + "&format=ndjson", handler));
    std::set<std::string> names;
    for (std::string line; std::getline(lines, line);) {
      const json event = json::parse(line);
      for (const auto& [name, value] : event.items()) names.insert(name);
    }
    names.erase("ts");
    names.erase("host");
    return names;
  }
  void ExpectHeaderOfEvents(const std::string& query, Handler handler = GetEvents) {
    std::vector<std::string> expected = {"ts", "host"};
    std::ranges::copy(NamesOf(query, handler), std::back_inserter(expected));
    EXPECT_EQ(HeaderOf(query, handler), expected) << query;
  }
};

TEST_F(FieldWalkTest, AHeaderOfManyColumnsHasWhatTheEventsHave) {
  for (const char* table : {kMetric, kInBlobs, kInDays, kByField}) {
    Fill(table);
    for (const bool settled : {false, true}) {
      if (settled) {
        ASSERT_TRUE(world().context().store.Settle());
      }
      SCOPED_TRACE(std::string(table) + (settled ? "settled" : "as it came"));
      ExpectHeaderOfEvents("host=a");
      ExpectHeaderOfEvents("host=a&fields=*");
      ExpectHeaderOfEvents("scan=1&to=1600000000002");
      EXPECT_EQ(HeaderOf("host=a&fields=m5,*"),
                (std::vector<std::string>{"ts", "host", "m5", "n", "on", "text"}));
    }
  }
}

TEST_F(FieldWalkTest, SoItIsOfLatestRows) {
  Fill(kNewest);
  ExpectHeaderOfEvents("host=a", GetLatest);
  EXPECT_EQ(HeaderOf("fields=*", GetLatest).size(), 1206u);
}

TEST_F(FieldWalkTest, AFilterOnAnotherFieldHidesNoName) {
  Fill(kMetric);
  ASSERT_TRUE(world().context().store.Settle());
  const std::vector<std::string> header = HeaderOf("host=a&on=true");
  for (const char* name : {"n", "on"}) EXPECT_EQ(std::ranges::count(header, name), 1) << name;
  EXPECT_LT(header.size(), 7u);
}

TEST_F(FieldWalkTest, ReadsTheRowsThatTheQueryReadsAndCountsNone) {
  Fill(kMetric);
  const double before = world().context().metrics.rows_read.Value();
  HeaderOf("host=a");
  EXPECT_EQ(world().context().metrics.rows_read.Value() - before, 2);
}

}  // namespace
}  // namespace tallyd
