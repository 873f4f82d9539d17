// A filter on a label: answered by the series that match, and by no others.
#include "service/query/ask/series_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr char kLabelTables[] = R"(
[streams.s]
labels = ["host", "rack", "dc"]
[tables.S]
pattern = "single-timestamp"
stream = "s"
row_key = "{m}#{labels}#{ts:ms}"
families.F = {}
[tables.NOW]
pattern = "latest"
stream = "s"
row_key = "{m}#{labels}"
families.F = {}
)";

class SeriesRangesTest : public testing::Test {
 protected:
  nlohmann::json Ask(const std::string& query, Handler handler = GetEvents) {
    const Response response = world_.Call(handler, {"s"}, query);
    EXPECT_EQ(response.status, 200) << query << ": " << response.body;
    return nlohmann::json::parse(response.body);
  }
  void Post(const nlohmann::json& events) {
    const Response response = world_.Post("s", events.dump());
    ASSERT_EQ(response.status, 200) << response.body;
  }
  static nlohmann::json Event(int64_t ts, const std::string& m, nlohmann::json labels) {
    labels.update({{"ts", ts}, {"m", m}, {"v", ts}});
    return labels;
  }

  ApiWorld world_{kLabelTables};
};

TEST_F(SeriesRangesTest, AFilterOnALabelReadsNothingElse) {
  Post({Event(1000, "cpu", {{"host", "a"}}), Event(1000, "cpu", {{"host", "aa"}}),
        Event(1000, "mem", {{"host", "a"}, {"rack", "1"}}), Event(2000, "cpu", {{"host", "a"}})});
  const nlohmann::json all = Ask("host=a");
  EXPECT_EQ(all["rows"].size(), 3u);
  EXPECT_EQ(all["plan"]["kind"], "range");
  EXPECT_EQ(all["plan"]["ranges"], 2);
  EXPECT_EQ(all["plan"]["rows_read"], 3);
  EXPECT_EQ(Ask("host=a&from=1970-01-01T00:00:02Z&to=1970-01-01T00:00:03Z")["plan"]["rows_read"],
            1);
  EXPECT_EQ(Ask("host=b")["rows"].size(), 0u);
  EXPECT_EQ(Ask("host=a", GetLatest)["rows"].size(), 2u);
}

TEST_F(SeriesRangesTest, AnOrdinaryFieldOfThatNameIsFoundAllTheSame) {
  Post({Event(1000, "cpu", {{"host", "a"}, {"rack", "7"}}),
        Event(2000, "cpu", {{"host", "a"}, {"rack", 7}})});
  EXPECT_EQ(Ask("m=cpu&rack=7")["rows"].size(), 2u);
}

TEST_F(SeriesRangesTest, AnswersAsAReadingOfAllWouldWhateverWasWrittenAndRemoved) {
  std::mt19937 random(3);
  std::vector<nlohmann::json> model;
  const auto pick = [&random](unsigned of) { return std::to_string(random() % of); };
  int64_t ts = 1000;
  for (int round = 0; round < 30; ++round) {
    nlohmann::json batch = nlohmann::json::array();
    for (int i = 0; i < 10; ++i) {
      nlohmann::json labels = nlohmann::json::object();
      if (random() % 5 > 0) labels["host"] = "h" + pick(6);
      if (random() % 2 > 0) labels["rack"] = "r,=#" + pick(3);
      batch.push_back(Event(ts++, "m" + pick(2), std::move(labels)));
      model.push_back(batch.back());
    }
    Post(batch);
    if (round % 7 == 6) {
      const std::string m = "m" + pick(2);
      EXPECT_EQ(world_.Call(DeleteRows, {"S"}, "prefix=" + m + "%23host%3Dh1").status, 200u);
      std::erase_if(model, [&](const nlohmann::json& event) {
        return event["m"] == m && event.value("host", "") == "h1";
      });
      EXPECT_TRUE(world_.context().writer.series().Settle());
    }
    for (const std::string field : {"host", "rack"}) {
      const std::string value = field == "host" ? "h" + pick(6) : "r,=#" + pick(3);
      const std::string asked = field == "host" ? value : "r%2C%3D%23" + value.substr(4);
      const auto matches = [&](const nlohmann::json& event) {
        return event.value(field, "") == value;
      };
      EXPECT_EQ(Ask(field + "=" + asked)["rows"].size(),
                static_cast<size_t>(std::ranges::count_if(model, matches)))
          << round << ": " << field << "=" << value;
    }
  }
}

}  // namespace
}  // namespace tallyd
