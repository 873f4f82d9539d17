// What a removal of events takes out of latest rows, history gives back where it has it.
#include "service/removal/latest_restorer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using nlohmann::json;

constexpr char kHistory[] = R"(
[tables.METRIC]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
)";
constexpr char kLatest[] = R"(
[tables.NOW]
stream = "s"
pattern = "latest"
row_key = "{host}"
families.F = {}
)";
constexpr char kWholeRows[] = R"(
[tables.LAST]
stream = "s"
pattern = "latest"
row_key = "{host}"
keep = "row"
families.F = {}
)";

constexpr int64_t kStart = 1'600'000'000'000;  // Milliseconds.

class LatestRestorerTest : public testing::Test {
 protected:
  explicit LatestRestorerTest(std::string tables = std::string(kHistory) + kLatest + kWholeRows)
      : tables_(std::move(tables)), world_(tables_) {
    Open();
  }

  void Open() {
    restorer_ = &world_.context().jobs.restorer;
    world_.before_restore = [this] {
      if (meanwhile_) std::exchange(meanwhile_, nullptr)();
    };
  }
  void Restart() {
    ASSERT_TRUE(world_.Restart(tables_));
    Open();
  }

  void Write(const std::string& host, int64_t second, json fields) {
    fields["host"] = host;
    fields["ts"] = kStart + second * 1000;
    const Response answer = world_.Post("s", fields.dump());
    EXPECT_EQ(answer.status, 200u) << answer.body;
  }
  json Remove(const std::string& what) {
    const Response answer = world_.Call(DeleteEvents, {"s"}, what);
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return json::parse(answer.body);
  }
  static std::string At(int64_t second) { return std::to_string(kStart + second * 1000); }
  void Restore() {
    const Status done = restorer_->Look();
    EXPECT_TRUE(done) << done.error().message();
    EXPECT_EQ(restorer_->pending(), 0u);
  }
  // Column to its value and second: "7@3".
  json RowOf(const std::string& table, const std::string& key) {
    const Response answer = world_.Call(GetRow, {table, key});
    json row = json::object();
    if (answer.status != 200) return row;
    const json cells = json::parse(answer.body)["cells"]["F"];
    for (const auto& [column, cell] : cells.items()) {
      const int64_t second = (cell[0]["ts"].get<int64_t>() - kStart) / 1000;
      row[column] = cell[0]["value"].dump() + "@" + std::to_string(second);
    }
    return row;
  }
  void ExpectNow(const std::string& expected) {
    EXPECT_EQ(RowOf("NOW", "a"), json::parse(expected));
  }

  const std::string tables_;
  ApiWorld world_;
  std::function<void()> meanwhile_;  // Once, before the next commit.
  LatestRestorer* restorer_ = nullptr;
};

TEST_F(LatestRestorerTest, BehindTheEventOfABadClockTheOneBeforeItIsBack) {
  Write("a", 1, {{"v", 1}, {"w", 1}});
  Write("a", 2, {{"v", 2}});
  Write("a", 1'000'000, {{"v", 3}, {"w", 3}});
  Write("b", 1'000'000, {{"v", 9}});
  Remove("host=a&from=" + At(1000));
  Restore();
  ExpectNow(R"({"v": "2@2", "w": "1@1"})");
  EXPECT_EQ(RowOf("NOW", "b"), json::parse(R"({"v": "9@1000000"})"));
}

TEST_F(LatestRestorerTest, ARowThatIsKeptWholeIsTheEventBefore) {
  Write("a", 1, {{"v", 1}, {"w", 1}});
  Write("a", 2, {{"w", 2}, {"x", 2}});
  Write("a", 1'000'000, {{"v", 3}});
  Remove("host=a&from=" + At(1000));
  Restore();
  EXPECT_EQ(RowOf("LAST", "a"), json::parse(R"({"w": "2@2", "x": "2@2"})"));
}

TEST_F(LatestRestorerTest, WhatWasLastSaidLongAgoIsFound) {
  Write("a", -400 * 86'400, {{"rare", 1}});
  Write("a", 1, {{"v", 1}});
  Write("a", 1'000'000, {{"v", 2}, {"rare", 2}, {"new", 1}});
  Remove("host=a&from=" + At(1000));
  Restore();
  ExpectNow(R"({"v": "1@1", "rare": "1@-34560000"})");
}

TEST_F(LatestRestorerTest, OfAnEntityThatIsRemovedAltogetherNothingComesBack) {
  Write("a", 1, {{"v", 1}});
  Remove("host=a");
  Restore();
  ExpectNow("{}");
  Write("a", 1, {{"v", 1}});
  Remove("host=a&from=" + At(-10));
  Restore();
  ExpectNow("{}");
}

TEST_F(LatestRestorerTest, ARestartGoesOn) {
  Write("a", 1, {{"v", 1}, {"w", 1}});
  Write("a", 2, {{"v", 2}});
  Write("a", 1'000'000, {{"v", 3}, {"w", 3}});
  Remove("host=a&from=" + At(1000));
  Restart();
  EXPECT_EQ(restorer_->pending(), 1u);
  Restore();
  ExpectNow(R"({"v": "2@2", "w": "1@1"})");
  Restart();
  EXPECT_EQ(restorer_->pending(), 0u);
}

TEST_F(LatestRestorerTest, ATableThatIsOutOfTheFileIsSeenToWhenItIsBack) {
  Write("a", 1, {{"v", 1}});
  Write("a", 1'000'000, {{"v", 3}});
  ASSERT_TRUE(world_.Reload(std::string(kHistory) + kWholeRows));
  Remove("host=a&from=" + At(1000));
  Restore();
  EXPECT_EQ(restorer_->waiting(), 1u);
  EXPECT_EQ(RowOf("LAST", "a"), json::parse(R"({"v": "1@1"})"));
  ASSERT_TRUE(world_.Reload(tables_));
  Restore();
  EXPECT_EQ(restorer_->waiting(), 0u);
  ExpectNow(R"({"v": "1@1"})");
  Restart();
  EXPECT_EQ(restorer_->pending(), 0u);
}

TEST_F(LatestRestorerTest, ATableThatIsOutOfTheFileIsSeenToWhenAStartBringsItBack) {
  Write("a", 1, {{"v", 1}});
  Write("a", 1'000'000, {{"v", 3}});
  ASSERT_TRUE(world_.Reload(std::string(kHistory) + kWholeRows));
  Remove("host=a&from=" + At(1000));
  Restore();
  Restart();
  EXPECT_EQ(restorer_->pending(), 1u);
  Restore();
  ExpectNow(R"({"v": "1@1"})");
}

// Of the events that history still has.
TEST_F(LatestRestorerTest, RowsThatWereDeletedAloneWhileItWaitedDoNotComeBack) {
  for (const bool restarts : {false, true}) {
    ASSERT_TRUE(world_.Reload(tables_));
    Write("a", 1, {{"v", 1}});
    Write("a", 1'000'000, {{"v", 3}});
    ASSERT_TRUE(world_.Reload(std::string(kHistory) + kWholeRows));
    Remove("host=a&from=" + At(1000));
    Restore();
    EXPECT_EQ(world_.Call(DeleteRow, {"NOW", "a"}).status, 200u);
    if (restarts) {
      Restart();
    } else {
      ASSERT_TRUE(world_.Reload(tables_));
    }
    Restore();
    EXPECT_EQ(restorer_->waiting(), 0u);
    ExpectNow("{}");
  }
}

TEST_F(LatestRestorerTest, WhatComesMeanwhileIsNewer) {
  Write("a", 1, {{"v", 1}, {"w", 1}});
  Write("a", 1'000'000, {{"v", 3}, {"w", 3}});
  Remove("host=a&from=" + At(1000));
  meanwhile_ = [this] {
    Write("a", 1, {{"v", 8}});
    Write("a", 5, {{"w", 5}});
  };
  Restore();
  ExpectNow(R"({"v": "8@1", "w": "5@5"})");
}

TEST_F(LatestRestorerTest, WhatIsRemovedMeanwhileDoesNotComeBack) {
  Write("a", 1, {{"v", 1}});
  Write("a", 5, {{"v", 5}});
  Write("a", 1'000'000, {{"v", 3}});
  Remove("host=a&from=" + At(1000));
  meanwhile_ = [this] { Remove("host=a&from=" + At(4)); };
  Restore();
  ExpectNow(R"({"v": "1@1"})");
}

TEST_F(LatestRestorerTest, ALateEventDoesNotHideANewerOne) {
  Write("a", 1, {{"v", 1}});
  Write("a", 5, {{"v", 5}});
  Write("a", 1'000'000, {{"v", 3}});
  Remove("host=a&from=" + At(1000));
  Write("a", 2, {{"v", 2}});
  Restore();
  ExpectNow(R"({"v": "5@5"})");
}

TEST_F(LatestRestorerTest, ARemovalThatFailedBringsNothingBack) {
  Write("a", 1, {{"v", 1}});
  auto task = restorer_->NewTask({0, "s", {{"host", {"a"}}}, {}});
  restorer_->Add(std::move(task));
  Restore();
  ExpectNow(R"({"v": "1@1"})");
}

TEST_F(LatestRestorerTest, RandomRemovalsLeaveWhatHistoryImplies) {
  std::mt19937 random(1);
  const auto any = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  std::map<int, json> events;  // Of host a, by second.
  for (int round = 0; round < 150; ++round) {
    for (int i = any(4); i > 0; --i) {
      const int second = any(20'000);
      json fields = {{"n" + std::to_string(any(3)), round}};
      if (any(2) == 0) fields["m"] = round;
      Write("a", second, fields);
      events[second].update(fields);
    }
    if (any(3) == 0) {
      const int from = any(20'000);
      const int to = any(2) == 0 ? 20'000 : from + any(2000) + 1;
      Remove("host=a&from=" + At(from) + "&to=" + At(to));
      events.erase(events.lower_bound(from), events.lower_bound(to));
      if (any(4) == 0) Restart();
      if (any(2) == 0) Restore();
    }
    if (any(3) != 0) continue;
    Restore();
    json newest = json::object();
    for (const auto& [second, fields] : events) {
      for (const auto& [column, value] : fields.items()) {
        newest[column] = value.dump() + "@" + std::to_string(second);
      }
    }
    ASSERT_EQ(RowOf("NOW", "a"), newest) << round;
  }
}

class WithoutHistoryTest : public LatestRestorerTest {
 protected:
  WithoutHistoryTest() : LatestRestorerTest(kLatest) {}
};

TEST_F(WithoutHistoryTest, RowsStayAsTheRemovalLeavesThem) {
  Write("a", 1, {{"v", 1}});
  Write("a", 1'000'000, {{"v", 3}});
  Remove("host=a&from=" + At(1000));
  Restore();
  ExpectNow("{}");
}

}  // namespace
}  // namespace tallyd
