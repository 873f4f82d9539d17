#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr char kOperationTables[] = R"(
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = { max_age = "30d" }
)";
constexpr int64_t kMonthAndMore = 40 * kUsPerDay;

class OperationTest : public ::testing::Test, public ApiWorld {
 protected:
  OperationTest() : ApiWorld(kOperationTables) {}

  nlohmann::json Ask(Handler handler) { return nlohmann::json::parse(Call(handler, {}).body); }
  std::string Metrics() { return Call(GetMetrics, {}).body; }

  // Of an event that is as old as it may be when the clock does not jump.
  int64_t Expired() {
    const int64_t ts = (clock().now - kMonthAndMore) / kUsPerMs;
    const Response response =
        Post("s", "{\"k\":\"a\",\"v\":1,\"ts\":" + std::to_string(ts) + "}", "");
    return nlohmann::json::parse(response.body).value("expired", 0);
  }
};

TEST_F(OperationTest, IsReadyUnlessACommitHasBeenRunningTooLong) {
  context().ready = true;
  EXPECT_EQ(Call(GetReady, {}).status, 200);
  context().commits_wait = true;
  EXPECT_EQ(Call(GetReady, {}).status, 503);
  EXPECT_EQ(Call(GetHealth, {}).status, 200) << "the process answers";
  context().commits_wait = false;
  EXPECT_EQ(Call(GetReady, {}).status, 200);
}

TEST_F(OperationTest, StatusTellsTheRetentionClock) {
  const nlohmann::json before = Ask(GetStatus)["retention_clock"];
  EXPECT_TRUE(before["believes_wall_clock"]);
  EXPECT_EQ(before["lag_s"], 0.0);
  clock().now += kMonthAndMore;
  const nlohmann::json jumped = Ask(GetStatus)["retention_clock"];
  EXPECT_FALSE(jumped["believes_wall_clock"]);
  EXPECT_NEAR(jumped["lag_s"], 40 * 86'400.0, 100);
  EXPECT_NEAR(jumped["believes_in_s"], 3600.0, 100);
}

TEST_F(OperationTest, StatusTellsWhatEveryStoreHasAndTheEnginesOwn) {
  const nlohmann::json store = Ask(GetStatus)["store"];
  EXPECT_EQ(store["writable"], true);
  EXPECT_EQ(store["reason"], "");
  for (const char* number : {"queued_bytes", "queued_batches", "pending_deletes", "block_files",
                             "disk_bytes", "free_bytes"}) {
    EXPECT_TRUE(store[number].is_number_unsigned()) << number;
  }
  EXPECT_EQ(store["level_files"].size(), 7u);
}

TEST_F(OperationTest, MetricsTellOfEachStreamItsEventsAndTheNewestTime) {
  const int64_t now = clock().now / kUsPerMs;
  Post("s", R"([{"k":"a","v":1,"ts":)" + std::to_string(now - 2000) + R"(},{"k":"b","v":1,"ts":)" +
                std::to_string(now - 1000) + "}]");
  Post("s", R"({"k":"a","v":1,"ts":)" + std::to_string(now - 3000) + "}");
  const std::string metrics = Metrics();
  EXPECT_NE(metrics.find("tallyd_events_total{stream=\"s\"} 3\n"), std::string::npos) << metrics;
  const std::string newest = "tallyd_newest_event_timestamp_seconds{stream=\"s\"} ";
  const size_t at = metrics.find(newest);
  ASSERT_NE(at, std::string::npos) << metrics;
  EXPECT_DOUBLE_EQ(std::stod(metrics.substr(at + newest.size())),
                   static_cast<double>(now - 1000) / 1000);
}

TEST_F(OperationTest, MetricsTellOfEachTableItsRowsAndBytes) {
  context().ready = true;
  const int64_t now = clock().now / kUsPerMs;
  Post("s",
       "[{\"k\":\"a\",\"v\":1,\"ts\":" + std::to_string(now) +
           "},{\"k\":\"b\",\"v\":1,\"ts\":" + std::to_string(now) + "}]",
       "");
  const std::string metrics = Metrics();
  EXPECT_NE(metrics.find("tallyd_table_rows{table=\"T\"} 2\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("tallyd_table_disk_bytes{table=\"T\"} "), std::string::npos) << metrics;
}

TEST_F(OperationTest, MetricsKeepWhatTablesHeldWhileTheStoreTakesNoWrites) {
  context().ready = true;
  EXPECT_NE(Metrics().find("tallyd_table_rows{table=\"T\"} 0\n"), std::string::npos);
  context().commits_wait = true;
  EXPECT_NE(Metrics().find("tallyd_table_rows{table=\"T\"} 0\n"), std::string::npos);
}

TEST_F(OperationTest, MetricsTellTheEnginesOwn) {
  const std::string metrics = Metrics();
  for (const char* gauge : {"tallyd_store_pending_deletes 0", "tallyd_store_block_files 0",
                            "tallyd_store_unsealed_bytes 0", "tallyd_leveldb_slowdown 0",
                            "tallyd_leveldb_files{level=\"6\"} 0"}) {
    EXPECT_NE(metrics.find("\n" + std::string(gauge) + "\n"), std::string::npos) << gauge;
  }
  EXPECT_EQ(metrics.find("# TYPE tallyd_leveldb_files gauge"),
            metrics.rfind("# TYPE tallyd_leveldb_files gauge"));
}

TEST_F(OperationTest, MetricsTellTheRetentionClock) {
  EXPECT_NE(Metrics().find("\ntallyd_retention_clock_timestamp_seconds 1700000000\n"),
            std::string::npos);
  EXPECT_NE(Metrics().find("\ntallyd_retention_clock_lag_seconds 0\n"), std::string::npos);
}

TEST_F(OperationTest, TrustClockMakesAJumpCount) {
  clock().now += kMonthAndMore;
  EXPECT_EQ(Expired(), 0) << "the retention clock does not agree that it is too old";
  const Response trusted = Call(PostTrustClock, {});
  EXPECT_EQ(trusted.status, 200);
  const auto told = nlohmann::json::parse(trusted.body)["retention_clock"];
  EXPECT_TRUE(told["believes_wall_clock"]);
  EXPECT_EQ(told["time"], clock().now / kUsPerMs);
  EXPECT_EQ(Expired(), 1);
}

TEST_F(OperationTest, TrustClockTakesNoParameter) {
  EXPECT_EQ(Call(PostTrustClock, {}, "to=now").status, 400);
}

}  // namespace
}  // namespace tallyd
