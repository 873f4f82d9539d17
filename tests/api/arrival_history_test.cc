// Random histories of events with and without times: batches that overlap, are refused, dry or
// partial, clocks that jump, restarts. What was answered with 200 is there, each event by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr const char* kArrivalHistoryTables = R"(
[ingest]
max_future = "1d"
[tables.COARSE]
stream = "s"
pattern = "new-cell"
row_key = "{k}#{ts:day}"
families.F = {}
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}
[tables.SUMS]
stream = "s"
pattern = "aggregate"
row_key = "{k}"
families.F = { aggregate = "sum", bucket = "1d" }
)";

class ArrivalHistory {
 public:
  explicit ArrivalHistory(uint64_t seed) : random_(seed) {}

  void Run(int steps) {
    for (int step = 0; step < steps; ++step) {
      switch (random_() % 8) {
        case 0:
          Jump();
          break;
        case 1:
          ASSERT_TRUE(world_.Restart(kArrivalHistoryTables));
          break;
        case 2:
          Overlap();
          break;
        default:
          Post();
      }
    }
    world_.clock().now = kNow + 100 * kUsPerDay;
    for (const char* table : {"COARSE", "ROWS"}) EXPECT_EQ(Found(table), sent_) << table;
  }

 private:
  static constexpr TimeUs kNow = 1'700'000'000 * kUsPerSecond;

  uint64_t Below(uint64_t n) { return random_() % n; }

  // The clock goes back, or ahead, by anything up to a hundred days; or it says that it is 1970.
  void Jump() {
    const auto jump = static_cast<int64_t>(Below(uint64_t{1} << Below(44)));
    TimeUs& now = world_.clock().now;
    now = Below(10) == 0 ? jump : now + (Below(2) == 0 ? jump : -jump);
    if (Below(3) == 0) now = kNow + static_cast<int64_t>(Below(1000));
    now = std::clamp<TimeUs>(now, 0, kNow + 50 * kUsPerDay);
  }

  std::string Events(std::vector<int>* numbers) {
    std::string body = "[";
    for (uint64_t i = 1 + Below(20); i > 0; --i) {
      numbers->push_back(++last_);
      body += body.size() > 1 ? "," : "";
      body += R"({"k":"a","n":)" + std::to_string(last_);
      // No two events with a time have the same one.
      if (Below(3) == 0) body += ",\"ts\":" + std::to_string(1'600'000'000'000 + last_);
      if (Below(4) == 0) body += ",\"f" + std::to_string(Below(5)) + "\":1";
      body += "}";
    }
    return body + "]";
  }

  void Note(const Response& response, const std::vector<int>& numbers) {
    ASSERT_TRUE(response.status == 200 || response.status == 503) << response.body;
    if (response.status == 200) sent_.insert(numbers.begin(), numbers.end());
  }

  void Post() {
    std::vector<int> numbers;
    std::string body = Events(&numbers);
    if (Below(6) == 0) {
      body.insert(body.size() - 1, R"(,{"n":0})");
      const Response response = world_.Post("s", body, Below(2) == 0 ? "partial=1" : "");
      if (response.status == 200) sent_.insert(numbers.begin(), numbers.end());
      return;
    }
    if (Below(6) == 0) {
      world_.Post("s", body, "dry_run=1");
      return;
    }
    Note(world_.Post("s", body), numbers);
  }

  // Two batches are mapped before either is committed, and committed in either order.
  void Overlap() {
    IngestWorkspace workspaces[2];
    std::vector<int> numbers[2];
    PreparedBatch prepared[2];
    std::vector<IngestHead> heads;
    for (int i = 0; i < 2; ++i) {
      Request request;
      request.principal = Anybody();
      request.arguments = {"s"};
      heads.push_back(*ReadIngestHead(request, world_.context()));
      std::string body = Events(&numbers[i]);
      body.reserve(body.size() + kBodyPadding);
      prepared[i] = PrepareIngest(heads[i], body, world_.context(), workspaces[i]);
    }
    const size_t first = Below(2);
    for (const size_t i : {first, 1 - first}) {
      if (prepared[i].response) {
        Note(*prepared[i].response, numbers[i]);
        prepared[i] = {};
        continue;
      }
      const Status committed = WaitForCommit([&](CommitDone done) {
        world_.context().writer.Submit(&prepared[i].write, std::move(done));
      });
      Note(AnswerIngest(heads[i], prepared[i], committed, world_.context()), numbers[i]);
    }
  }

  std::set<int> Found(const std::string& table) {
    std::set<int> found;
    const std::string lines =
        BodyOf(world_.Call(GetEvents, {"s"}, "k=a&fields=n&format=ndjson&table=" + table));
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line);) {
      const bool is_new = found.insert(nlohmann::json::parse(line)["n"].get<int>()).second;
      EXPECT_TRUE(is_new) << line;
    }
    return found;
  }

  std::mt19937_64 random_;
  ApiWorld world_{kArrivalHistoryTables};
  int last_ = 0;
  std::set<int> sent_;
};

TEST(ArrivalHistoryTest, EveryEventThatWasTakenIsThereByItself) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    ArrivalHistory(seed).Run(80);
  }
}

}  // namespace
}  // namespace tallyd
