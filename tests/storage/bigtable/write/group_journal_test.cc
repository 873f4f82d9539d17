#include "storage/bigtable/write/group_journal.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/storage/bigtable/whole_batches.h"

namespace tallyd {
namespace {

using GroupJournalTest = WholeBatchesTest;

int64_t SumOf(WholeDaemon* daemon) {
  const Rows sums = daemon->Read("C");
  return sums.empty() ? 0 : std::stoll(sums[0].second.begin()->second);
}

// Of the four cells of a batch.
size_t CellsAt(WholeDaemon* daemon, TimeUs time) {
  const std::string cell = "A:x@" + std::to_string(time);
  size_t there = 0;
  for (const char* table : {"H", "L"}) {
    for (const auto& [row, cells] : daemon->Read(table)) there += cells.count(cell);
  }
  return there;
}

// One daemon after another, each lost one call later, until one is not before it answers.
TEST_F(GroupJournalTest, WhateverCallWasTheLastTheBatchIsThereOnceAsAWholeOrNotAtAll) {
  size_t with = 0;
  size_t without = 0;
  int64_t sum = 0;
  bool was_taken = false;
  for (int done = 0; !was_taken; ++done) {
    ASSERT_LT(done, 40);
    const TimeUs time = 10 + done;
    {
      WholeDaemon lost(service_, kAfterALease * done);
      LoseAfter(done);
      was_taken = lost.OutcomeOf(lost.BatchOf(time)).status().has_value();
    }
    RefuseNothing();
    WholeDaemon other(service_, kAfterALease * (done + 1));
    ASSERT_TRUE(JournalEmpties()) << done;
    const size_t cells = CellsAt(&other, time);
    const int64_t added = SumOf(&other) - sum;
    sum += added;
    const bool is_there = cells == 3 && added == 3;
    EXPECT_TRUE(is_there || (cells == 0 && added == 0)) << done << ": " << cells << ", " << added;
    EXPECT_TRUE(is_there || !was_taken) << done;
    ++(is_there ? with : without);
  }
  EXPECT_GE(with, 6u) << "behind the journal's row, four rows, and before that goes";
  EXPECT_GE(without, 1u);
}

TEST_F(GroupJournalTest, TheAnswerOfAKeyIsThereWhereItsBatchIsAndOnlyThere) {
  int64_t answered = 0;
  bool was_taken = false;
  for (int done = 0; !was_taken; ++done) {
    ASSERT_LT(done, 40);
    const TimeUs start = kAfterALease * 2 * done;
    const std::string key = "key" + std::to_string(done);
    {
      WholeDaemon lost(service_, start);
      ASSERT_EQ(*lost.claims().Claim({key, "first"}), Claiming::Fate::kOwn);
      auto batch = lost.BatchOf(10 + done);
      batch->PutMemo("ik/" + key, "answer", NoteOrder::kAfter);
      batch->CountUnder(key, "first");
      LoseAfter(done);
      was_taken = lost.OutcomeOf(std::move(batch)).status().has_value();
    }
    RefuseNothing();
    WholeDaemon twin(service_, start + kAfterALease);
    ASSERT_TRUE(JournalEmpties()) << done;
    const bool is_answered = twin.store().FindMemo("ik/" + key)->has_value();
    answered += is_answered ? 1 : 0;
    EXPECT_EQ(SumOf(&twin), 3 * answered) << done;
    EXPECT_TRUE(is_answered || !was_taken) << done;
    if (is_answered) continue;
    EXPECT_EQ(*twin.claims().Claim({key, "second"}), Claiming::Fate::kOwn) << done;
  }
  EXPECT_GE(answered, 6);
}

TEST_F(GroupJournalTest, ATwinIsToldToComeAgainUntilTheBatchIsFinished) {
  WholeDaemon lost(service_, 0);
  ASSERT_EQ(*lost.claims().Claim({"key", "first"}), Claiming::Fate::kOwn);
  auto batch = lost.BatchOf(10);
  batch->PutMemo("ik/key", "answer", NoteOrder::kAfter);
  batch->CountUnder("key", "first");
  RefuseRow("b");
  const CommitOutcome outcome = lost.OutcomeOf(std::move(batch));
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().code(), ErrorCode::kInDoubt) << "the key tells what became of it";
  WholeDaemon twin(service_, kAfterALease);
  EXPECT_EQ(*twin.claims().Claim({"key", "second"}), Claiming::Fate::kOthers);
  RefuseNothing();
  ASSERT_TRUE(JournalEmpties());
  EXPECT_EQ(*twin.store().FindMemo("ik/key"), "answer");
  EXPECT_EQ(*twin.claims().Claim({"key", "second"}), Claiming::Fate::kOwn);
  EXPECT_EQ(SumOf(&twin), 3);
}

TEST_F(GroupJournalTest, ARowOfItsOwnTakesNoJournal) {
  WholeDaemon daemon(service_, 0);
  service_.server.faults().Forget();
  ASSERT_TRUE(daemon.Write("H", "r", 5, {{"A", "x", Value::Int(1)}}));
  EXPECT_EQ(service_.server.faults().Count("Entry tallyd_journal"), 0u);
  ASSERT_TRUE(daemon.OutcomeOf(daemon.BatchOf(10)));
  EXPECT_EQ(service_.server.faults().Count("Entry tallyd_journal"), 2u);
  EXPECT_EQ(service_.server.RowsOf(kJournal), 0u);
}

TEST_F(GroupJournalTest, BatchesThatGoTogetherTakeTwoCallsMore) {
  WholeDaemon daemon(service_, 0);
  tablet::FaultRates slow;
  slow.latency = std::chrono::milliseconds(2);
  service_.server.faults().Set(slow);
  service_.server.faults().Forget();
  std::vector<std::future<CommitOutcome>> outcomes;
  for (int i = 0; i < 100; ++i) outcomes.push_back(daemon.Begin(daemon.BatchOf(10 + i, 0)));
  for (auto& outcome : outcomes) EXPECT_TRUE(outcome.get());
  EXPECT_EQ(service_.server.faults().Count("Entry tallyd_journal"), 200u);
  EXPECT_LT(service_.server.faults().Count("MutateRows tallyd_journal"), 100u);
}

TEST_F(GroupJournalTest, ManyThatAddToOneRowAllCountOnce) {
  WholeDaemon daemon(service_, 0);
  tablet::FaultRates rates = tablet::FaultRates::All(0.02);
  rates.collections = 0;
  service_.server.faults().Set(rates);
  std::vector<std::future<CommitOutcome>> outcomes;
  for (int i = 0; i < 40; ++i) outcomes.push_back(daemon.Begin(daemon.BatchOf(10 + i, 1)));
  for (auto& outcome : outcomes) EXPECT_TRUE(outcome.get());
  service_.server.faults().Set({});
  EXPECT_EQ(SumOf(&daemon), 40);
  EXPECT_EQ(service_.server.faults().Count("overlaps"), 0u);
}

}  // namespace
}  // namespace tallyd
