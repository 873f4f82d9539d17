// Random histories of events and removals over tables that add up and latest ones, beside a model
// in memory: sums and latest rows are what their history implies, unless somebody said otherwise.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "ingest/hold/counter_flusher.h"
#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using nlohmann::json;

constexpr char kRemovalModelTables[] = R"(
[tables.EVENTS]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}

[tables.HOURS]
stream = "s"
pattern = "aggregate"
row_key = "{host}#{ts:day}"
families.T = { aggregate = "sum", bucket = "1h" }
columns = [{ family = "T", fields = ["v"] }]

[tables.GREATEST]
stream = "s"
pattern = "aggregate"
row_key = "{host}"
families.T = { aggregate = "max", bucket = "2h" }
columns = [{ family = "T", fields = ["v"] }]

[tables.HELD]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.T = {}
flush = "30m"
columns = [{ family = "T", fields = ["v"] }]

[tables.NOW]
stream = "s"
pattern = "latest"
row_key = "{host}"
families.F = {}
)";

constexpr int64_t kStart = 1'600'041'600'000;  // A day begins, in milliseconds.
constexpr int64_t kMinute = 60'000;
constexpr int kMinutes = 1000;
const std::vector<std::string> kHosts = {"a", "b"};

class History {
 public:
  explicit History(unsigned seed) : random_(seed), world_(kRemovalModelTables) { Open(); }

  void Play() {
    for (int step = 0; step < 40 && !testing::Test::HasFailure(); ++step) {
      switch (Below(8)) {
        case 0:
          ASSERT_TRUE(world_.context().store.Settle());
          break;
        case 1:
          ASSERT_TRUE(flusher_->Flush(Below(2) == 0));
          break;
        case 2:
          Restart();
          break;
        case 3:
        case 4:
          Remove();
          break;
        default:
          Write();
      }
      if (Below(3) == 0) Check();
    }
  }
  const std::string& log() const { return log_; }

 private:
  // What a table has of a host, by the start of a bucket.
  using Buckets = std::map<int64_t, std::vector<int64_t>>;

  int Below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }

  void Open() {
    flusher_ = std::make_unique<CounterFlusher>(&world_.context().counters, &world_.context().store,
                                                &world_.clock());
  }
  void Restart() {
    ASSERT_TRUE(flusher_->Flush(true));
    flusher_.reset();
    ASSERT_TRUE(world_.Restart(kRemovalModelTables));
    world_.clock().now += kUsPerSecond;  // The intervals of another run have other numbers.
    Open();
    log_ += "restart\n";
  }

  void Write() {
    const std::string host = kHosts[static_cast<size_t>(Below(2))];
    for (int i = 1 + Below(5); i > 0; --i) {
      // Each once: what is sent again counts again.
      const int64_t time = kStart + Below(kMinutes) * kMinute + ++sent_;
      const int64_t value = Below(100);
      const json event = {{"host", host}, {"ts", time}, {"v", value}};
      ASSERT_EQ(world_.Post("s", event.dump()).status, 200u);
      log_ += event.dump() + "\n";
      events_[host][time] = value;
      for (auto& [table, span] : spans_) {
        sums_[table][host][time / span * span].push_back(value);
      }
    }
  }

  void Remove() {
    const std::string host = kHosts[static_cast<size_t>(Below(2))];
    // Mostly of whole half hours: some tables are cut, others are not.
    const int64_t unit = Below(4) == 0 ? 1 : 30;
    const int64_t from = kStart + Below(kMinutes) / unit * unit * kMinute;
    const int64_t to = from + (1 + Below(8)) * unit * kMinute;
    const bool keeps = Below(2) == 0;
    const std::string text = "host=" + host + "&from=" + std::to_string(from) +
                             "&to=" + std::to_string(to) + (keeps ? "&aggregates=keep" : "");
    const Response answer = world_.Call(DeleteEvents, {"s"}, text);
    log_ += text + ": " + std::to_string(answer.status) + "\n";
    std::set<std::string> cut;
    for (const auto& [table, span] : spans_) {
      if (from % span != 0 || to % span != 0) cut.insert(table);
    }
    ASSERT_EQ(answer.status, cut.empty() || keeps ? 200u : 422u) << answer.body;
    if (answer.status != 200) return;
    const json told = json::parse(answer.body);
    ASSERT_EQ(told.contains("kept") ? told["kept"].size() : 0, cut.size()) << told;
    auto& events = events_[host];
    events.erase(events.lower_bound(from), events.lower_bound(to));
    for (const auto& [table, span] : spans_) {
      auto& buckets = sums_[table][host];
      if (cut.contains(table)) continue;
      buckets.erase(buckets.lower_bound(from), buckets.lower_bound(to));
    }
  }

  void Check() {
    ASSERT_TRUE(world_.context().jobs.restorer.Look());
    // What is held is in no answer.
    ASSERT_TRUE(flusher_->Flush(true));
    for (const std::string& host : kHosts) {
      const json rows = RowsOf("EVENTS", host);
      EXPECT_EQ(rows.size(), events_[host].size());
      for (const auto& [table, span] : spans_) CheckSums(table, host, span);
      const json now = RowsOf("NOW", host);
      ASSERT_EQ(now.size(), events_[host].empty() ? 0u : 1u) << log_;
      if (now.empty()) continue;
      const auto& [time, value] = *events_[host].rbegin();
      const json& cell = now[0]["cells"]["F"]["v"][0];
      EXPECT_EQ(cell["value"], value) << log_;
      EXPECT_EQ(cell["ts"], time) << log_;
    }
  }

  void CheckSums(const std::string& table, const std::string& host, int64_t span) {
    std::map<int64_t, int64_t> found;
    for (const json& row : RowsOf(table, host)) {
      for (const json& cell : row["cells"]["T"]["v"]) {
        const int64_t bucket = cell["ts"].get<int64_t>() / span * span;
        const int64_t value = cell["value"].get<int64_t>();
        found[bucket] = table == "GREATEST" ? value : found[bucket] + value;
      }
    }
    std::map<int64_t, int64_t> expected;
    for (const auto& [bucket, values] : sums_[table][host]) {
      for (const int64_t value : values) {
        int64_t& all = expected[bucket];
        all = table == "GREATEST" ? std::max(all, value) : all + value;
      }
    }
    EXPECT_EQ(found, expected) << table << " of " << host << "\n" << log_;
  }

  json RowsOf(const std::string& table, const std::string& host) {
    const Response answer = world_.Call(GetRows, {table}, "prefix=" + host);
    EXPECT_EQ(answer.status, 200u);
    return json::parse(answer.body)["rows"];
  }

  std::mt19937 random_;
  ApiWorld world_;
  std::unique_ptr<CounterFlusher> flusher_;
  const std::map<std::string, int64_t> spans_ = {
      {"HOURS", 60 * kMinute}, {"GREATEST", 120 * kMinute}, {"HELD", 30 * kMinute}};
  std::map<std::string, std::map<int64_t, int64_t>> events_;  // By host and time.
  std::map<std::string, std::map<std::string, Buckets>> sums_;
  int sent_ = 0;
  std::string log_;
};

TEST(RemovalModelTest, SumsAndLatestRowsAreWhatTheirHistoryImplies) {
  const char* const more = std::getenv("TALLYD_REMOVAL_HISTORIES");
  const unsigned histories = more == nullptr ? 15 : static_cast<unsigned>(std::atoi(more));
  for (unsigned seed = 1; seed <= histories && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    History history(seed);
    history.Play();
  }
}

}  // namespace
}  // namespace tallyd
