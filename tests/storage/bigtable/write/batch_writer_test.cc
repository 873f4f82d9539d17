#include "storage/bigtable/write/batch_writer.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <deque>
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
    ASSERT_TRUE(store_->Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
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

TEST_F(BatchWriterTest, SendsAMemoThatComesAroundRowsBeforeThemAndBehindThem) {
  std::mutex mutex;
  std::vector<std::string> sent;
  service_.server.faults().Script([&](const tablet::Call& call) -> tablet::Verdict {
    if (call.method != "Entry") return {};
    const std::lock_guard lock(mutex);
    sent.emplace_back(call.row_key);
    if (!call.row_key.starts_with("bad#")) return {};
    return {tablet::Outcome::kRefused, {grpc::StatusCode::INVALID_ARGUMENT, "never"}};
  });
  for (const std::string row : {"good", "bad"}) {
    sent.clear();
    auto batch = NewBatch();
    Put(batch.get(), "H", row + "#", 5, {{"A", "x", Value::Int(1)}});
    batch->PutMemo("k", "v", NoteOrder::kAround);
    EXPECT_EQ(OutcomeOf(std::move(batch)).status().has_value(), row == "good");
    EXPECT_EQ(sent, (std::vector<std::string>{"n/k", row + "#", "n/k"}));
  }
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

TEST_F(BatchWriterTest, DeletesManySingleRowsInFewCalls) {
  auto rows = NewBatch();
  for (int i = 100; i < 600; ++i) {
    Put(rows.get(), "H", std::to_string(i), 5, {{"A", "x", Value::Int(i)}});
  }
  ASSERT_TRUE(OutcomeOf(std::move(rows)));
  service_.server.faults().Forget();
  auto deletes = NewBatch();
  for (int i = 100; i < 600; i += 2) {
    DeleteSpec what;
    what.rows = RangeOfKey(std::to_string(i));
    what.cells = {5, 6};
    Delete(deletes.get(), "H", what);
  }
  ASSERT_TRUE(OutcomeOf(std::move(deletes)));
  EXPECT_LT(service_.server.faults().Count("ReadRows H"), 10u);
  EXPECT_LT(service_.server.faults().Count("MutateRows H"), 10u);
  EXPECT_EQ(Read("H").size(), 250u);
}

TEST_F(BatchWriterTest, RefusesABatchOfAnEarlierConfiguration) {
  auto batch = RowOfBoth("m", 5);
  Schema later = MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest), MakeTable("N")});
  ASSERT_TRUE(store_->Adopt(later));
  const CommitOutcome outcome = OutcomeOf(std::move(batch));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
}

TEST_F(BatchWriterTest, WhatIsThereInPartIsNotToldAsIfNothingWere) {
  for (const grpc::StatusCode code :
       {grpc::StatusCode::NOT_FOUND, grpc::StatusCode::FAILED_PRECONDITION}) {
    service_.server.faults().Script([code](const tablet::Call& call) -> tablet::Verdict {
      if (call.method != "Entry" || call.row_key != "m") return {};
      return {tablet::Outcome::kRefused, {code, "never"}};
    });
    const CommitOutcome outcome = OutcomeOf(RowOfBoth("m", 5));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
    EXPECT_EQ(Read("H").size(), 1u);
  }
}

TEST_F(BatchWriterTest, ARowMayHaveMoreCellsThanACallTakes) {
  constexpr TimeUs kCells = 150'000;
  auto batch = NewBatch();
  for (TimeUs time = 1; time <= kCells; ++time) {
    Put(batch.get(), "H", "r", time, {{"A", "x", Value::Int(time)}});
  }
  const CommitOutcome outcome = OutcomeOf(std::move(batch));
  ASSERT_TRUE(outcome) << outcome.error().message();
  const Rows rows = Read("H");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].second.size(), static_cast<size_t>(kCells));
}

TEST_F(BatchWriterTest, OfARowThatIsReplacedNobodySeesNothing) {
  ASSERT_TRUE(Write("H", "r", 5, {{"A", "x", Value::Int(0)}}));
  for (int64_t number = 1; number <= 3; ++number) {
    service_.server.faults().Script([this, number](const tablet::Call& call) -> tablet::Verdict {
      if (call.method == "Entry" && call.row_key == "r") {
        EXPECT_EQ(Read("H"), (Rows{{"r", {{"A:x@5", std::to_string(number - 1)}}}}));
      }
      return {};
    });
    auto batch = NewBatch();
    Delete(batch.get(), "H", {OneRow("r"), {}, {}, {}});
    Put(batch.get(), "H", "r", 5, {{"A", "x", Value::Int(number)}});
    ASSERT_TRUE(OutcomeOf(std::move(batch)));
    service_.server.faults().Script({});
    EXPECT_EQ(Read("H"), (Rows{{"r", {{"A:x@5", std::to_string(number)}}}}));
  }
}

// H has sums in its family A.
class CountingWriterTest : public BatchWriterTest {
 protected:
  void SetUp() override {
    BatchWriterTest::SetUp();
    Schema schema = MakeSchema({MakeTable("C"), MakeTable("L", Pattern::kLatest)});
    schema.tables[0].families[0].aggregate = Aggregate::kSum;
    ASSERT_TRUE(store_->Adopt(schema));
  }
  std::unique_ptr<Batch> Counting(int64_t number) {
    auto batch = NewBatch();
    Put(batch.get(), "C", "sums", 5, {{"A", "x", Value::Int(number)}});
    Put(batch.get(), "L", "m", 5, {{"A", "x", Value::Int(number)}});
    return batch;
  }
  // Of the row of sums: each try of it, in turn.
  void ScriptSums(std::vector<tablet::Verdict> verdicts) {
    auto left = std::make_shared<std::deque<tablet::Verdict>>(verdicts.begin(), verdicts.end());
    service_.server.faults().Script([left](const tablet::Call& call) -> tablet::Verdict {
      if (call.method != "Entry" || call.row_key != "sums" || left->empty()) return {};
      const tablet::Verdict verdict = left->front();
      left->pop_front();
      return verdict;
    });
  }
  static Rows Sums(const std::string& text) { return {{"sums", {{"A:x@5", text}}}}; }

  const tablet::Verdict lost_{tablet::Outcome::kUnanswered,
                              {grpc::StatusCode::UNAVAILABLE, "lost"}};
  const tablet::Verdict refused_{tablet::Outcome::kRefused,
                                 {grpc::StatusCode::INVALID_ARGUMENT, "never"}};
};

TEST_F(CountingWriterTest, WhatIsSentAgainCountsOnce) {
  ScriptSums({lost_, lost_, {}, lost_});
  EXPECT_TRUE(OutcomeOf(Counting(3)));
  EXPECT_EQ(Read("C"), Sums("3"));
  EXPECT_TRUE(OutcomeOf(Counting(4)));
  EXPECT_EQ(Read("C"), Sums("7"));
}

TEST_F(CountingWriterTest, NothingCountsBeforeAllElseIsAcknowledged) {
  service_.server.faults().Script([this](const tablet::Call& call) -> tablet::Verdict {
    return call.method == "Entry" && call.row_key == "m" ? refused_ : tablet::Verdict();
  });
  const CommitOutcome outcome = OutcomeOf(Counting(3));
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().code(), ErrorCode::kInDoubt);
  EXPECT_EQ(Read("C"), Rows());
}

TEST_F(CountingWriterTest, WhatIsRefusedHasNotCountedAndWhatIsLostNobodyKnows) {
  ScriptSums({refused_});
  const CommitOutcome refused = OutcomeOf(Counting(3));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kIo);
  ScriptSums({lost_, refused_});
  const CommitOutcome lost = OutcomeOf(Counting(3));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), ErrorCode::kInDoubt);
}

TEST_F(CountingWriterTest, CountsUnderItsClaimOrNotAtAll) {
  Claiming& claims = *store_->capabilities().claiming;
  const auto submit = [this](const std::string& owner) {
    auto batch = Counting(3);
    batch->CountUnder("key", owner);
    return OutcomeOf(std::move(batch));
  };
  ASSERT_EQ(*claims.Claim({"key", "a"}), Claiming::Fate::kOwn);
  EXPECT_FALSE(submit("b"));
  EXPECT_EQ(Read("C"), Rows());
  EXPECT_TRUE(submit("a"));
  EXPECT_EQ(Read("C"), Sums("3"));
  const Claiming::Held held{"key", "a"};
  ASSERT_TRUE(claims.Release({&held, 1}));
  EXPECT_EQ(*claims.Claim({"key", "b"}), Claiming::Fate::kOwn) << "there is no doubt";
  ScriptSums({refused_});
  EXPECT_FALSE(submit("b"));
  ScriptSums({lost_, refused_});
  EXPECT_FALSE(submit("b"));
  clock.now += 11 * kUsPerSecond;
  EXPECT_EQ(*claims.Claim({"key", "c"}), Claiming::Fate::kInDoubt);
}

TEST_F(CountingWriterTest, WhoMayNotCountLeavesTheDoubtOfWhoDoes) {
  Claiming& claims = *store_->capabilities().claiming;
  const auto client = service_.Connect();
  CatalogueRows rows(client.get());
  Journal journal(client.get(), &clock);
  ClaimRows others(&rows, &journal, &clock);
  ASSERT_EQ(*claims.Claim({"key", "a"}), Claiming::Fate::kOwn);
  auto is_first = std::make_shared<std::atomic<bool>>(true);
  service_.server.faults().Script([&, is_first](const tablet::Call& call) -> tablet::Verdict {
    if (call.row_key != "k/key" || !is_first->exchange(false)) return {};
    clock.now += 11 * kUsPerSecond;
    EXPECT_EQ(*others.Claim({"key", "b"}), Claiming::Fate::kOwn);
    EXPECT_TRUE(*others.BeginCounting({"key", "b"}));
    return refused_;
  });
  auto batch = Counting(3);
  batch->CountUnder("key", "a");
  EXPECT_FALSE(OutcomeOf(std::move(batch)));
  EXPECT_FALSE(*is_first);
  service_.server.faults().Script({});
  clock.now += 11 * kUsPerSecond;
  EXPECT_EQ(*claims.Claim({"key", "c"}), Claiming::Fate::kInDoubt) << "b may have counted";
}

TEST_F(CountingWriterTest, OfARowThatIsWrittenInPartsSomeMayHaveCounted) {
  constexpr TimeUs kCells = 120'000;
  auto batch = NewBatch();
  for (TimeUs time = 1; time <= kCells; ++time) {
    Put(batch.get(), "C", "sums", time, {{"A", "x", Value::Int(1)}});
  }
  ScriptSums({{}, refused_});
  const CommitOutcome outcome = OutcomeOf(std::move(batch));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kInDoubt);
}

}  // namespace
}  // namespace tallyd
