// Queries of a stream "server" whose tables change by reloads and restarts, with verbs for what
// their plans must say.
#ifndef TALLYD_TESTS_API_QUERY_QUERY_FIXTURE_H_
#define TALLYD_TESTS_API_QUERY_QUERY_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/api/api_world.h"

namespace tallyd {

using nlohmann::json;

inline constexpr char kMetric[] = R"(
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
)";

inline constexpr char kByDay[] = R"(
[tables.BY_DAY]
stream = "server"
pattern = "new-cell"
row_key = "{host}#{ts:day}"
families.F = {}
)";

inline std::string EventAt(int ts, const std::string& more) {
  return R"({"host":"a","ts":)" + std::to_string(ts) + "," + more + "}";
}

class QueryTest : public testing::Test {
 protected:
  json Ask(const std::string& query, Handler handler = GetEvents) {
    const Response response = world().Call(handler, {"server"}, query);
    EXPECT_EQ(response.status, 200u) << query << ": " << response.body;
    return json::parse(response.body);
  }
  void Take(const std::string& events) {
    const Response response = world().Post("server", events);
    EXPECT_EQ(response.status, 200u) << response.body;
  }
  void ExpectWhole(const std::string& query, const std::string& table, size_t rows) {
    const json answer = Ask(query);
    EXPECT_EQ(answer["plan"]["table"], table) << query;
    EXPECT_EQ(answer["rows"].size(), rows) << query;
    EXPECT_FALSE(answer["plan"].contains("complete")) << answer["plan"];
    EXPECT_FALSE(answer["plan"].contains("note")) << answer["plan"];
  }
  void ExpectPartial(const std::string& query, const std::string& table, const std::string& note) {
    const json answer = Ask(query);
    EXPECT_EQ(answer["plan"]["table"], table) << query;
    EXPECT_EQ(answer["plan"]["complete"], false) << query;
    EXPECT_NE(answer["plan"].value("note", "").find(note), std::string::npos) << answer["plan"];
  }
  void Begin(const std::string& tables) { world_ = std::make_unique<ApiWorld>(tables); }
  ApiWorld& world() { return *world_; }

 private:
  std::unique_ptr<ApiWorld> world_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_API_QUERY_QUERY_FIXTURE_H_
