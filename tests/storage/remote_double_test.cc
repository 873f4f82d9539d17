// What a store without whole batches tells of one that failed in part, and who waits how long.
#include "tests/storage/remote_double.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

namespace tallyd {
namespace {

using ::testing::HasSubstr;

class RemoteDoubleTest : public ::testing::Test, public StoreVerbs {
 public:
  RemoteDoubleTest() {
    EXPECT_TRUE(remote_.Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
  }
  Store& store() override { return remote_; }

 protected:
  // Rows a, b and c in both tables, with a note before them and one behind.
  std::unique_ptr<Batch> Rows() {
    auto batch = NewBatch();
    for (const char* row : {"a", "b", "c"}) {
      for (const char* table : {"L", "H"}) {
        Put(batch.get(), table, row, 5, {{"A", "x", Value::Int(1)}});
      }
    }
    batch->PutMemo("first", "1", NoteOrder::kBefore);
    batch->PutMemo("behind", "1", NoteOrder::kAfter);
    return batch;
  }
  CommitOutcome Submit(std::unique_ptr<Batch> batch) {
    std::promise<CommitOutcome> told;
    remote_.Submit(std::move(batch), [&](CommitOutcome outcome) { told.set_value(outcome); });
    return told.get_future().get();
  }
  void Strike(const std::string& table, const std::string& row, Fate fate) {
    remote_.set_fate([=](std::string_view of, std::string_view key) {
      return of == table && key == row ? fate : Fate::kArrives;
    });
  }
  bool Has(std::string_view memo) { return remote_.FindMemo(memo)->has_value(); }

  ModelDisk disk_;
  RemoteDouble remote_{&disk_, &clock};
};

TEST_F(RemoteDoubleTest, ABatchThatFailsInPartNamesItsRows) {
  Strike("H", "b", Fate::kRefused);
  const CommitOutcome outcome = Submit(Rows());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(outcome.error().message(), HasSubstr("4 of 6 rows were not acknowledged"));
  ASSERT_EQ(outcome.failed().size(), 4u) << "b, and the latest rows, which were not sent";
  EXPECT_EQ(outcome.failed()[0].row_key, "b");
  EXPECT_EQ(Read("H").size(), 2u);
  EXPECT_EQ(Read("L").size(), 0u) << "latest rows do not run ahead of history";
  EXPECT_TRUE(Has("first"));
  EXPECT_FALSE(Has("behind"));
}

TEST_F(RemoteDoubleTest, ABatchThatIsSentAgainIsThereOnce) {
  Strike("L", "b", Fate::kUnanswered);
  EXPECT_FALSE(Submit(Rows()));
  EXPECT_EQ(Read("L").size(), 3u) << "it was written, and nobody was told";
  EXPECT_FALSE(Has("behind"));
  remote_.set_fate({});
  EXPECT_TRUE(Submit(Rows()));
  for (const char* table : {"H", "L"}) {
    EXPECT_EQ(
        Read(table),
        (tallyd::Rows{{"a", {{"A:x@5", "1"}}}, {"b", {{"A:x@5", "1"}}}, {"c", {{"A:x@5", "1"}}}}));
  }
  EXPECT_TRUE(Has("behind"));
}

TEST_F(RemoteDoubleTest, WithoutItsFirstNotesNoRowIsWritten) {
  Strike("", "first", Fate::kRefused);
  EXPECT_FALSE(Submit(Rows()));
  EXPECT_EQ(Read("H").size() + Read("L").size(), 0u);
}

TEST_F(RemoteDoubleTest, AReadingEndsByItsDeadlineAndWhenNobodyWaits) {
  ASSERT_TRUE(Submit(Rows()));
  remote_.set_latency(std::chrono::seconds(60));
  ScanSpec spec;
  spec.limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  const Result<bool> late = remote_.Scan(Find("H"), spec)->Next();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), ErrorCode::kUnavailable);
  const std::atomic<bool> cancelled = true;
  EstimateSpec wanted;
  wanted.limits.cancelled = &cancelled;
  const Result<ScanEstimate> ended = remote_.Estimate(Find("H"), wanted);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace tallyd
