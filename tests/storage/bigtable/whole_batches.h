// Daemons with `whole_batches` over one tablet server, that are lost on the way.
#ifndef TALLYD_TESTS_STORAGE_BIGTABLE_WHOLE_BATCHES_H_
#define TALLYD_TESTS_STORAGE_BIGTABLE_WHOLE_BATCHES_H_

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/storage/bigtable/service.h"
#include "tests/storage/store_verbs.h"

namespace tallyd {

inline constexpr TimeUs kAfterALease = 11 * kUsPerSecond;
inline constexpr TimeUs kTooLate = 11 * 60 * kUsPerSecond;
inline const std::string kJournal = "projects/p/instances/i/tables/tallyd_journal";

// H has two rows of a batch, L one, C a sum.
inline Schema HistoryLatestAndSums() {
  Schema schema = MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest), MakeTable("C")});
  schema.tables[2].families[0].aggregate = Aggregate::kSum;
  return schema;
}

class WholeDaemon : public StoreVerbs {
 public:
  WholeDaemon(const BigtableService& service, TimeUs later) {
    clock.now += later;
    Result<std::unique_ptr<Store>> opened = service.OpenStore(clock);
    EXPECT_TRUE(opened) << opened.error().message();
    store_ = std::move(*opened);
    const Status adopted = store_->Adopt(HistoryLatestAndSums());
    EXPECT_TRUE(adopted) << adopted.error().message();
  }
  Store& store() override { return *store_; }

  std::unique_ptr<Batch> BatchOf(TimeUs time, int64_t added = 3) {
    auto batch = NewBatch();
    for (const std::string row : {"a", "b"}) {
      Put(batch.get(), "H", row, time, {{"A", "x", Value::Int(time)}});
    }
    Put(batch.get(), "L", "m", time, {{"A", "x", Value::Int(time)}});
    if (added != 0) Put(batch.get(), "C", "sums", 5, {{"A", "x", Value::Int(added)}});
    return batch;
  }
  Claiming& claims() { return *store_->capabilities().claiming; }
  std::future<CommitOutcome> Begin(std::unique_ptr<Batch> batch) {
    auto told = std::make_shared<std::promise<CommitOutcome>>();
    std::future<CommitOutcome> outcome = told->get_future();
    store_->Submit(std::move(batch),
                   [told](CommitOutcome ended) { told->set_value(std::move(ended)); });
    return outcome;
  }
  CommitOutcome OutcomeOf(std::unique_ptr<Batch> batch) { return Begin(std::move(batch)).get(); }
  double FailedBatches() {
    for (const auto& gauge : store_->State().gauges) {
      if (std::string_view(gauge.name) == "tallyd_bigtable_failed_batches") return gauge.value;
    }
    return -1;
  }

 private:
  std::unique_ptr<Store> store_;
};

class WholeBatchesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    spdlog::set_level(std::getenv("TALLYD_TEST_LOG") ? spdlog::level::trace : spdlog::level::off);
    service_.whole_batches = true;
  }
  template <class Condition>
  static bool Within(std::chrono::seconds time, const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  bool JournalEmpties() {
    return Within(std::chrono::seconds(20), [&] { return service_.server.RowsOf(kJournal) == 0; });
  }
  // From then on nothing is done of what writes, but `done` calls first.
  void LoseAfter(int done) {
    auto left = std::make_shared<std::atomic<int>>(done);
    service_.server.faults().Script([left](const tablet::Call& call) -> tablet::Verdict {
      const bool writes = call.method == "Entry" || call.method == "CheckAndMutateRow";
      if (!writes || (*left)-- > 0) return {};
      *left = 0;
      return {tablet::Outcome::kRefused, {grpc::StatusCode::INVALID_ARGUMENT, "lost"}};
    });
  }
  void RefuseRow(const std::string& row) {
    service_.server.faults().Script([row](const tablet::Call& call) -> tablet::Verdict {
      if (call.method != "Entry" || call.row_key != row) return {};
      return {tablet::Outcome::kRefused, {grpc::StatusCode::INVALID_ARGUMENT, "never"}};
    });
  }
  // By a daemon that is lost once row b of its batch was refused; it is refused from then on.
  void LeaveOne(int64_t added = 3) {
    WholeDaemon lost(service_, 0);
    RefuseRow("b");
    EXPECT_FALSE(lost.OutcomeOf(lost.BatchOf(10, added)));
  }
  void RefuseNothing() { service_.server.faults().Script({}); }

  BigtableService service_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_BIGTABLE_WHOLE_BATCHES_H_
