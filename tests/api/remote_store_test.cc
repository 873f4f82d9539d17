// The service over an engine that is elsewhere and has nothing beside rows and a catalogue: what
// was acknowledged is there, and what cannot be promised is refused or told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/api/api_world.h"
#include "tests/storage/remote_double.h"

namespace tallyd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kRemoteStoreTables[] = R"(
[streams.server]
time_required = true

[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.M = {}

[tables.NOW]
stream = "server"
pattern = "latest"
row_key = "{host}"
families.M = {}
)";

class RemoteStoreTest : public testing::Test {
 protected:
  RemoteStoreTest()
      : world_(kRemoteStoreTables, [this](const Clock& clock) {
          auto made = std::make_unique<RemoteDouble>(&disk_, &clock);
          remote_ = made.get();
          return made;
        }) {}

  static std::string Events(const std::string& host, int first, int count) {
    json events = json::array();
    for (int i = first; i < first + count; ++i) {
      events.push_back({{"host", host}, {"ts", 1'600'000'000'000 + i}, {"v", i}});
    }
    return events.dump();
  }
  std::multiset<int> ValuesOf(const std::string& host) { return ValuesIn(GetEvents, host); }
  // -1: there is none.
  int LatestOf(const std::string& host) {
    const std::multiset<int> values = ValuesIn(GetLatest, host);
    return values.empty() ? -1 : *values.rbegin();
  }

  std::multiset<int> ValuesIn(Handler handler, const std::string& host) {
    const json answer = json::parse(world_.Call(handler, {"server"}, "host=" + host).body);
    std::multiset<int> values;
    if (!answer.contains("columns")) return values;
    const auto& columns = answer["columns"];
    const auto v = std::ranges::find(columns, "v") - columns.begin();
    for (const json& row : answer["rows"]) values.insert(row.at(static_cast<size_t>(v)).get<int>());
    return values;
  }

  ModelDisk disk_;
  RemoteDouble* remote_ = nullptr;
  ApiWorld world_;
};

std::multiset<int> Numbers(int end) {
  std::multiset<int> numbers;
  for (int i = 0; i < end; ++i) numbers.insert(i);
  return numbers;
}

TEST_F(RemoteStoreTest, WhatWasAcknowledgedIsThereOnce) {
  for (int i = 0; i < 200; i += 20) {
    ASSERT_EQ(world_.Post("server", Events("a", i, 20)).status, 200u);
  }
  EXPECT_EQ(ValuesOf("a"), Numbers(200));
  EXPECT_EQ(LatestOf("a"), 199);
  ASSERT_TRUE(world_.Restart(kRemoteStoreTables));
  EXPECT_EQ(ValuesOf("a"), Numbers(200));
}

TEST_F(RemoteStoreTest, ABatchThatFailsInPartIsNotAcknowledgedAndMayBeSentAgain) {
  ASSERT_EQ(world_.Post("server", Events("a", 0, 5)).status, 200u);
  for (const Fate fate : {Fate::kRefused, Fate::kUnanswered}) {
    remote_->set_fate([&](std::string_view table, std::string_view row) {
      return table == "METRIC" && row == "a#1600000000007" ? fate : Fate::kArrives;
    });
    const Response answer = world_.Post("server", Events("a", 5, 5));
    EXPECT_EQ(answer.status, 503u);
    EXPECT_THAT(BodyOf(world_.Post("server", Events("a", 5, 5))),
                HasSubstr("2 of 6 rows were not acknowledged"));
    EXPECT_EQ(LatestOf("a"), 4) << "the latest does not run ahead of history";
  }
  remote_->set_fate({});
  EXPECT_EQ(world_.Post("server", Events("a", 5, 5)).status, 200u);
  EXPECT_EQ(ValuesOf("a"), Numbers(10));
  EXPECT_EQ(LatestOf("a"), 9);
}

TEST_F(RemoteStoreTest, WhatTheEngineHasNotIsAConflictAndIsTold) {
  EXPECT_EQ(world_.Call(PostSettle, {}).status, 409u);
  EXPECT_EQ(world_.Call(PostTrustClock, {}).status, 409u);
  const json status = json::parse(world_.Call(GetStatus, {}).body);
  EXPECT_EQ(status["engine"]["name"], "remote double");
  for (const auto& [name, has] : status["engine"].items()) {
    EXPECT_TRUE(name == "name" || has == false) << name;
  }
}

TEST_F(RemoteStoreTest, ARemovalThatLatestRowsWouldNotSurviveIsRefused) {
  ASSERT_EQ(world_.Post("server", Events("a", 0, 5)).status, 200u);
  const Response cut =
      world_.Call(DeleteEvents, {"server"}, "host=a&from=1600000000003&to=1600000000005");
  EXPECT_EQ(cut.status, 409u) << cut.body;
  EXPECT_EQ(ValuesOf("a"), Numbers(5)) << "nothing was removed";
  const Response old =
      world_.Call(DeleteEvents, {"server"}, "host=a&from=1600000000000&to=1600000000002");
  EXPECT_EQ(old.status, 200u) << old.body;
  EXPECT_EQ(ValuesOf("a"), (std::multiset<int>{2, 3, 4}));
  EXPECT_EQ(LatestOf("a"), 4);
  EXPECT_EQ(world_.Call(DeleteEvents, {"server"}, "host=a").status, 200u);
  EXPECT_TRUE(ValuesOf("a").empty());
  EXPECT_EQ(LatestOf("a"), -1);
}

}  // namespace
}  // namespace tallyd
