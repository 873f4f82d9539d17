#include "storage/bigtable/write/batch_writer.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <future>

#include "tests/storage/bigtable/service.h"
#include "tests/storage/store_verbs.h"

namespace tallyd {
namespace {

class BatchWriterTest : public ::testing::Test, public StoreVerbs {
 protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    store_ = std::move(*service_.OpenStore(clock));
    ASSERT_TRUE(
        store_->Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
    service_.server.faults().Forget();
  }
  Store& store() override { return *store_; }
  std::unique_ptr<Batch> RowOfBoth(const std::string& row, TimeUs time) {
    auto batch = NewBatch();
    Put(batch.get(), "H", row + "#" + std::to_string(time), time, {{"A", "x", Value::Int(time)}});
    Put(batch.get(), "L", row, time, {{"A", "x", Value::Int(time)}});
    return batch;
  }
  CommitOutcome OutcomeOf(std::unique_ptr<Batch> batch) {
    auto told = std::make_shared<std::promise<CommitOutcome>>();
    std::future<CommitOutcome> outcome = told->get_future();
    store_->Submit(std::move(batch),
                   [told](CommitOutcome ended) { told->set_value(std::move(ended)); });
    return outcome.get();
  }

  BigtableService service_;
  std::unique_ptr<Store> store_;
};

TEST_F(BatchWriterTest, SendsNoLatestRowBeforeItsHistoryIsAcknowledged) {
  service_.server.faults().Script([](const tablet::Call& call) -> tablet::Verdict {
    const bool fails = call.method == "Entry" && call.row_key.starts_with("bad#");
    if (!fails) return {};
    return {tablet::Outcome::kRefused, {grpc::StatusCode::INVALID_ARGUMENT, "never"}};
  });
  const CommitOutcome bad = OutcomeOf(RowOfBoth("bad", 5));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.failed().size(), 2u);
  EXPECT_TRUE(OutcomeOf(RowOfBoth("good", 5)));
  EXPECT_EQ(Read("L"), (Rows{{"good", {{"A:x@5", "5"}}}}));
}

TEST_F(BatchWriterTest, HasNeverTwoCallsWithOneRowUnderWay) {
  tablet::FaultRates rates;
  rates.latency = std::chrono::milliseconds(1);
  service_.server.faults().Set(rates);
  std::vector<std::future<CommitOutcome>> outcomes;
  for (int i = 0; i < 200; ++i) {
    auto told = std::make_shared<std::promise<CommitOutcome>>();
    outcomes.push_back(told->get_future());
    store_->Submit(RowOfBoth("m" + std::to_string(i % 3), i),
                   [told](CommitOutcome ended) { told->set_value(std::move(ended)); });
  }
  for (auto& outcome : outcomes) EXPECT_TRUE(outcome.get());
  EXPECT_EQ(service_.server.faults().Count("overlaps"), 0u);
  EXPECT_LT(service_.server.faults().Count("MutateRows"), 200u) << "what waits goes together";
  EXPECT_EQ(Read("H").size(), 200u);
}

TEST_F(BatchWriterTest, RefusesABatchOfAnEarlierConfiguration) {
  auto batch = RowOfBoth("m", 5);
  Schema later = MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest), MakeTable("N")});
  ASSERT_TRUE(store_->Adopt(later));
  const CommitOutcome outcome = OutcomeOf(std::move(batch));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace tallyd
