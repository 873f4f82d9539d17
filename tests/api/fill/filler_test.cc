// A table that lacks something of the past is filled, whatever comes meanwhile: queries that name
// it then answer what those of the complete table do.
#include "service/fill/filler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/api/api_world.h"
#include "tests/api/change_row.h"

namespace tallyd {
namespace {

using nlohmann::json;

constexpr char kMetric[] = R"(
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
)";
constexpr char kByDay[] = R"(
[tables.BY_DAY]
stream = "server"
pattern = "new-cell"
row_key = "{host}#{ts:day}"
families.F = {}
)";
constexpr char kTotals[] = R"(
[tables.TOTALS]
stream = "server"
pattern = "aggregate"
row_key = "{host}"
families.T = { aggregate = "sum", bucket = "1d" }
columns = [{ family = "T", fields = ["n"] }]
)";
constexpr char kLatest[] = R"(
[tables.NOW]
stream = "server"
pattern = "latest"
row_key = "{host}"
families.F = {}
)";

constexpr int64_t kStart = 1'600'000'000'000;  // Milliseconds.
constexpr int kHosts = 5;

json EventOf(int i, int n) {
  json event = {
      {"ts", kStart + i / kHosts * 60'000}, {"host", "h" + std::to_string(i % kHosts)}, {"n", n}};
  if (i % 3 == 0) event["note"] = "n" + std::to_string(i);
  return event;
}

class FillerTest : public testing::Test {
 protected:
  FillerTest() : world_(kMetric) {}

  void Write(int first, int count, int n = 1) {
    json events = json::array();
    for (int i = first; i < first + count; ++i) events.push_back(EventOf(i, n));
    const Response answer = world_.Post("server", events.dump());
    EXPECT_EQ(answer.status, 200u) << answer.body;
  }

  // Batches of a row each, so that much can happen between them.
  std::unique_ptr<Filler> MakeFiller() {
    ApiContext& context = world_.context();
    auto filler = std::make_unique<Filler>(
        Filler::Parts{&context.store, &context.clock, &context.live_schema, &context.writer,
                      &context.registry, 1, 3600 * kUsPerSecond, 1, [this] { BeforeCommit(); }});
    EXPECT_TRUE(filler->Open());
    return filler;
  }
  // Until there is nothing that it can do.
  void Fill() {
    if (!filler_) filler_ = MakeFiller();
    for (int looks = 0; looks < 20; ++looks) filler_->Look();
  }
  void Restart(const std::string& tables) {
    filler_.reset();
    ASSERT_TRUE(world_.Restart(tables));
  }
  void BeforeCommit() {
    ++commits_;
    if (meanwhile_) meanwhile_();
  }

  FillState StateOf(const std::string& table) {
    for (FillState& state : filler_->States()) {
      if (state.record.table == table) return state;
    }
    return {};
  }

  json Ask(const std::string& table, const std::string& more = "") {
    const Response answer =
        world_.Call(GetEvents, {"server"}, "scan=1&limit=100000&table=" + table + more);
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  // Each event as an object without what is absent, sorted.
  static std::vector<std::string> EventsIn(const json& answer) {
    std::vector<std::string> events;
    for (const json& row : answer["rows"]) {
      json event = json::object();
      for (size_t i = 0; i < row.size(); ++i) {
        if (!row[i].is_null()) event[answer["columns"][i].get<std::string>()] = row[i];
      }
      events.push_back(event.dump());
    }
    std::sort(events.begin(), events.end());
    return events;
  }
  void ExpectWhole(const std::string& table) {
    const json answer = Ask(table);
    EXPECT_FALSE(answer["plan"].contains("complete")) << answer["plan"];
    EXPECT_EQ(EventsIn(answer), EventsIn(Ask("METRIC")));
  }
  // The sum over all buckets of a host.
  int64_t TotalOf(const std::string& host) {
    const json row = json::parse(world_.Call(GetRow, {"TOTALS", host}).body, nullptr, false);
    int64_t total = 0;
    for (const json& cell : row["cells"]["T"]["n"]) total += cell["value"].get<int64_t>();
    return total;
  }

  ApiWorld world_;
  std::unique_ptr<Filler> filler_;
  std::function<void()> meanwhile_;
  int commits_ = 0;
};

TEST_F(FillerTest, ATableThatJoinsIsFilled) {
  Write(0, 100);
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kByDay));
  EXPECT_TRUE(Ask("BY_DAY")["plan"].contains("complete"));
  Fill();
  EXPECT_EQ(StateOf("BY_DAY").kind, FillState::Kind::kFilled);
  EXPECT_EQ(StateOf("BY_DAY").record.events, 100u);
  EXPECT_EQ(StateOf("BY_DAY").record.compared, 134u) << "100 numbers, 34 notes";
  ExpectWhole("BY_DAY");
}

TEST_F(FillerTest, ACorrectionThatComesMeanwhileStays) {
  Write(0, 20);
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kByDay));
  int n = 2;
  meanwhile_ = [&] {
    if (n < 30) Write(0, 20, n++);
  };
  Fill();
  EXPECT_EQ(StateOf("BY_DAY").kind, FillState::Kind::kFilled);
  ExpectWhole("BY_DAY");
  EXPECT_EQ(EventsIn(Ask("BY_DAY", "&where=n=29")).size(), 20u);
}

TEST_F(FillerTest, WhatIsDeletedMeanwhileStaysDeleted) {
  Write(0, 50);
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kByDay + kLatest));
  meanwhile_ = [&] {
    if (commits_ > 5) return;
    EXPECT_EQ(world_.Call(DeleteEvents, {"server"}, "host=h" + std::to_string(commits_ - 1)).status,
              200u);
    if (commits_ == 5) Write(0, 1);
  };
  Fill();
  ExpectWhole("BY_DAY");
  EXPECT_EQ(EventsIn(Ask("METRIC")).size(), 1u);
}

TEST_F(FillerTest, ItsOwnRowsAreNotDeletedWhileItIsFilled) {
  Write(0, 50);
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kByDay));
  unsigned status = 0;
  meanwhile_ = [&] { status = world_.Call(DeleteRows, {"BY_DAY"}, "prefix=h1").status; };
  Fill();
  EXPECT_EQ(status, 409u);
  ExpectWhole("BY_DAY");
  EXPECT_EQ(world_.Call(DeleteRows, {"BY_DAY"}, "prefix=h1").status, 200u);
}

TEST_F(FillerTest, AMutationThatDeletesIsRefusedMeanwhile) {
  Write(0, 50);
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kByDay));
  unsigned deleted = 0;
  unsigned set = 0;
  meanwhile_ = [&] {
    deleted = ChangeRow(world_, "BY_DAY", "h1#20200913", R"({"delete":{}})").status;
    set = ChangeRow(world_, "BY_DAY", "x",
                    R"({"set":{"family":"F","qualifier":"n","ts":1,"value":1}})")
              .status;
  };
  Fill();
  EXPECT_EQ(deleted, 409u);
  EXPECT_EQ(set, 200u);
}

TEST_F(FillerTest, WhatIsWrittenByHandMeanwhileStays) {
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kByDay));
  Write(0, 10);
  const TablePtr table = world_.context().store.FindTable("BY_DAY");
  ASSERT_EQ(ChangeRow(world_, "BY_DAY", "x",
                      R"({"set":{"family":"F","qualifier":"n","ts":1,"value":1}})")
                .status,
            200u);
  const Status begun = world_.context().writer.BeginAnew(TheDaemon(), table, {},
                                                         [](uint64_t, Batch*) {});
  ASSERT_FALSE(begun);  // As when it was found before that nobody had.
  EXPECT_EQ(begun.error().code(), ErrorCode::kConflict);
  EXPECT_EQ(world_.Call(GetRow, {"BY_DAY", "x"}).status, 200u);
}

TEST_F(FillerTest, ATableFromWhichAnEmptiedOneIsFilledIsNotDropped) {
  Write(0, 100);
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kTotals));
  filler_ = MakeFiller();
  meanwhile_ = [&] {
    if (commits_ == 10) filler_->Stop();
  };
  filler_->Look();
  EXPECT_EQ(StateOf("TOTALS").kind, FillState::Kind::kFilling);
  meanwhile_ = nullptr;
  ASSERT_TRUE(world_.Reload(kTotals));
  const Response refused = world_.Call(DropTable, {"METRIC"});
  EXPECT_EQ(refused.status, 409u);
  EXPECT_NE(refused.body.find("TOTALS was emptied to be filled anew from METRIC"),
            std::string::npos)
      << refused.body;

  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kTotals));
  filler_ = MakeFiller();
  Fill();
  EXPECT_EQ(TotalOf("h0"), 20);
  ASSERT_TRUE(world_.Reload(kTotals));
  EXPECT_EQ(world_.Call(DropTable, {"METRIC"}).status, 200u);
}

TEST_F(FillerTest, ANewStartGoesOnWhereTheLastOneEnded) {
  Write(0, 100);
  const std::string both = std::string(kMetric) + kByDay;
  ASSERT_TRUE(world_.Reload(both));
  filler_ = MakeFiller();
  meanwhile_ = [&] {
    if (commits_ == 30) filler_->Stop();
  };
  filler_->Look();
  EXPECT_EQ(StateOf("BY_DAY").kind, FillState::Kind::kFilling);
  const uint64_t before = StateOf("BY_DAY").record.events;
  EXPECT_GT(before, 0u);
  meanwhile_ = nullptr;
  Restart(both);
  Fill();
  EXPECT_EQ(StateOf("BY_DAY").kind, FillState::Kind::kFilled);
  EXPECT_EQ(StateOf("BY_DAY").record.events, 100u) << "each was written once";
  ExpectWhole("BY_DAY");
}

TEST_F(FillerTest, ALatestTableHasTheNewestOfThePast) {
  Write(0, 20, 7);
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kLatest));
  Write(20, 2, 8);
  meanwhile_ = [&] {
    if (commits_ == 2) Write(2, 1, 9);  // Late: it is not the latest of h2.
  };
  Fill();
  const json answer = json::parse(world_.Call(GetLatest, {"server"}).body);
  EXPECT_FALSE(answer["plan"].contains("complete"));
  std::map<std::string, int> newest;
  const auto& columns = answer["columns"];
  const auto n = std::find(columns.begin(), columns.end(), "n") - columns.begin();
  const auto host = std::find(columns.begin(), columns.end(), "host") - columns.begin();
  for (const json& row : answer["rows"]) newest[row[host]] = row[n];
  EXPECT_EQ(newest,
            (std::map<std::string, int>{{"h0", 8}, {"h1", 8}, {"h2", 7}, {"h3", 7}, {"h4", 7}}));
}

TEST_F(FillerTest, EachEventIsAddedUpOnce) {
  Write(0, 100);
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kTotals));
  Write(100, 50);
  int next = 150;
  meanwhile_ = [&] {
    if (next < 250) Write(next, 5);
    next += 5;
  };
  Fill();
  EXPECT_EQ(StateOf("TOTALS").kind, FillState::Kind::kFilled);
  int64_t total = 0;
  for (int host = 0; host < kHosts; ++host) total += TotalOf("h" + std::to_string(host));
  EXPECT_EQ(total, 250);
}

TEST_F(FillerTest, EachEventIsAddedUpOnceThoughItIsSealedAndStartedAgain) {
  const std::string both = std::string(kMetric) + kTotals;
  Write(0, 100);
  ASSERT_TRUE(world_.context().store.Settle());
  Write(100, 100);
  ASSERT_TRUE(world_.Reload(both));
  Write(200, 100);
  filler_ = MakeFiller();
  meanwhile_ = [&] {
    if (commits_ % 10 == 0) Write(300 + commits_, 1);
    if (commits_ == 20) {
      EXPECT_TRUE(world_.context().store.Settle());
    }
    if (commits_ == 50) filler_->Stop();
  };
  filler_->Look();
  Restart(both);
  meanwhile_ = nullptr;
  Fill();
  EXPECT_EQ(StateOf("TOTALS").kind, FillState::Kind::kFilled);
  EXPECT_EQ(StateOf("TOTALS").record.events, 300u) << "each was read once";
  int64_t total = 0;
  for (int host = 0; host < kHosts; ++host) total += TotalOf("h" + std::to_string(host));
  EXPECT_EQ(total, 305);
}

TEST_F(FillerTest, AfterARuleHasChangedTheOldCellsAreNotMisread) {
  const std::string renamed =
      std::string(kByDay) +
      "columns = [{ family = \"F\", rename = { note = \"n\", n = \"m\" } }]\n";
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kByDay));
  Write(0, 100, 5);
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + renamed));
  Write(100, 10, 6);
  Fill();
  EXPECT_EQ(StateOf("BY_DAY").kind, FillState::Kind::kFilled);
  ExpectWhole("BY_DAY");
  const json row =
      json::parse(world_.Call(GetRows, {"BY_DAY"}, "prefix=h1&columns=F:n").body, nullptr, false);
  EXPECT_EQ(row.dump().find("\"value\":5"), std::string::npos) << row;
}

TEST_F(FillerTest, WhatWasWrittenByHandIsNotTakenAway) {
  const std::string renamed =
      std::string(kByDay) + "columns = [{ family = \"F\", rename = { n = \"m\" } }]\n";
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + kByDay));
  Write(0, 10);
  EXPECT_EQ(world_.Call(DeleteRows, {"BY_DAY"}, "prefix=h1").status, 200u);
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + renamed));
  Fill();
  EXPECT_EQ(StateOf("BY_DAY").kind, FillState::Kind::kStuck);
  EXPECT_NE(StateOf("BY_DAY").why.find("deleted"), std::string::npos);
}

TEST_F(FillerTest, RowsThatWereDeletedFromTheTableAloneDoNotComeBack) {
  const std::string by_day(kByDay);
  ASSERT_TRUE(world_.Reload(
      kMetric + by_day + "columns = [{ family = \"F\", fields = [\"n\"] }]\n"));
  Write(0, 20);
  EXPECT_EQ(world_.Call(DeleteRows, {"BY_DAY"}, "prefix=h1").status, 200u);
  ASSERT_TRUE(world_.Reload(
      kMetric + by_day +
      "columns = [{ family = \"F\", fields = [\"n\"] },\n"
      "  { family = \"F\", fields = [\"note\"] }]\n"));
  Fill();
  EXPECT_EQ(StateOf("BY_DAY").kind, FillState::Kind::kStuck);
  const json answer = Ask("BY_DAY");
  EXPECT_TRUE(answer["plan"].contains("complete")) << answer["plan"];
  for (const std::string& event : EventsIn(answer)) {
    EXPECT_EQ(event.find("\"h1\""), std::string::npos) << event;
  }
}

TEST_F(FillerTest, ATableMayDecline) {
  Write(0, 10);
  const size_t at = std::string(kByDay).find("stream");
  std::string declined = kByDay;
  declined.insert(at, "fill = false\n");
  ASSERT_TRUE(world_.Reload(std::string(kMetric) + declined));
  Fill();
  EXPECT_EQ(StateOf("BY_DAY").kind, FillState::Kind::kDeclined);
  EXPECT_TRUE(EventsIn(Ask("BY_DAY")).empty());
}

// What is older than the store keeps is gone, though a clock that went back says it is young.
TEST_F(FillerTest, WhatIsGoneIsNotSaidToBeThereAfterTheClockWentBack) {
  std::string aged = kMetric;
  aged.replace(aged.find("{}"), 2, "{ max_age = \"3d\" }");
  ASSERT_TRUE(world_.Reload(aged));
  const int64_t start = world_.clock().now;
  const auto event = [&](int64_t ms) {
    const json sent = {{"ts", ms}, {"host", "h"}, {"n", 1}};
    EXPECT_EQ(world_.Post("server", sent.dump()).status, 200u);
  };
  event(start / 1000 - 86'400'000);
  world_.clock().now = start + 10 * kUsPerDay;
  Restart(aged);
  event(world_.clock().now / 1000);
  ASSERT_TRUE(world_.context().store.TrustClock());
  ASSERT_TRUE(world_.context().store.Settle());
  const TimeUs kept_by = world_.context().store.RetentionNow();
  EXPECT_EQ(kept_by, world_.clock().now);
  world_.clock().now = start;
  Restart(aged);
  ASSERT_EQ(world_.context().store.State().retention.time, kept_by);
  ASSERT_TRUE(world_.Reload(aged + kByDay));
  Fill();
  const json answer = Ask("BY_DAY", "&from=" + std::to_string(start / 1000 - 2 * 86'400'000));
  EXPECT_TRUE(answer["plan"].contains("complete")) << answer;
}

// Random histories: tables join and change while events, corrections, late events and deletes come.
TEST_F(FillerTest, WhateverHappensItAnswersWhatTheSourceDoes) {
  const std::string joiners[] = {kByDay,
                                 R"(
[tables.BY_DAY]
stream = "server"
pattern = "single-timestamp-serialized"
row_key = "{ts:reverse(ms)}#{host}"
families.F = {}
)",
                                 R"(
[tables.BY_DAY]
stream = "server"
pattern = "new-column"
row_key = "{field}#{host}#{ts:day}"
columns = [{ family = "F", name = "{ts:%H%M%S}", value = "{value}" }]
families.F = {}
)"};
  const std::string noted = R"(columns = [{ family = "F", rename = { note = "remark" } }]
)";
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    ApiWorld world(kMetric);
    const auto write = [&](int first, int count) {
      json events = json::array();
      for (int i = first; i < first + count; ++i) events.push_back(EventOf(i, pick(1000)));
      EXPECT_EQ(world.Post("server", events.dump()).status, 200u);
    };
    int next = 60;
    write(0, next);
    const auto disturb = [&] {
      switch (pick(8)) {
        case 0:
          write(next, 5);
          next += 5;
          break;
        case 1:
        case 2:
          write(pick(next), 3);
          break;
        case 3: {
          const int64_t from = kStart + pick(next / kHosts) * 60'000;
          EXPECT_EQ(world
                        .Call(DeleteEvents, {"server"},
                              "host=h" + std::to_string(pick(kHosts)) + "&from=" +
                                  std::to_string(from) + "&to=" + std::to_string(from + 120'000))
                        .status,
                    200u);
          break;
        }
        case 4:
          if (pick(5) == 0) {
            EXPECT_TRUE(world.context().store.Settle());
          }
          break;
        default:
          break;
      }
    };
    const std::string& joiner = joiners[seed % 3];
    ASSERT_TRUE(world.Reload(kMetric + joiner));
    ApiContext& context = world.context();
    Filler filler({&context.store, &context.clock, &context.live_schema, &context.writer,
                   &context.registry, 1, 3600 * kUsPerSecond, 200, disturb});
    ASSERT_TRUE(filler.Open());
    const auto expect_same = [&](const std::string& what) {
      for (int looks = 0; looks < 20; ++looks) filler.Look();
      const auto ask = [&](const std::string& table) {
        return json::parse(
            world.Call(GetEvents, {"server"}, "scan=1&limit=100000&table=" + table).body);
      };
      const json answer = ask("BY_DAY");
      EXPECT_FALSE(answer["plan"].contains("complete")) << seed << what << answer["plan"];
      EXPECT_EQ(EventsIn(answer), EventsIn(ask("METRIC"))) << seed << what;
    };
    expect_same(" joined");
    if (seed % 3 == 0) {
      ASSERT_TRUE(world.Reload(kMetric + joiner + noted));
      expect_same(" changed");
      ASSERT_TRUE(world.Reload(kMetric + joiner));
      expect_same(" changed back");
    }
  }
}

}  // namespace
}  // namespace tallyd
