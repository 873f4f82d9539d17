#include "storage/bigtable/write/journal_sweep.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "storage/bigtable/wire/bulk_write.h"
#include "tests/storage/bigtable/whole_batches.h"

namespace tallyd {
namespace {

using JournalSweepTest = WholeBatchesTest;

TEST_F(JournalSweepTest, WhatFailedHereIsFinishedHere) {
  WholeDaemon daemon(service_, 0);
  RefuseRow("b");
  const CommitOutcome outcome = daemon.OutcomeOf(daemon.BatchOf(10));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::kInDoubt) << "sent again it would count beside it";
  EXPECT_TRUE(outcome.failed().empty()) << "it is not in part for good";
  RefuseNothing();
  ASSERT_TRUE(JournalEmpties());
  EXPECT_EQ(daemon.Read("H").size(), 2u);
  EXPECT_EQ(daemon.Read("L").size(), 1u);
  EXPECT_EQ(daemon.Read("C"), (Rows{{"sums", {{"A:x@5", "3"}}}}));
}

TEST_F(JournalSweepTest, ALaterValueOfACellWaitsUntilTheEarlierOneIsThere) {
  WholeDaemon daemon(service_, 0);
  RefuseRow("b");
  EXPECT_FALSE(daemon.OutcomeOf(daemon.BatchOf(10, 0)));
  const auto correct = [&] { return daemon.Write("H", "a", 10, {{"A", "x", Value::Int(11)}}); };
  const Status early = correct();
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code(), ErrorCode::kUnavailable);
  EXPECT_TRUE(daemon.Write("H", "a", 12, {{"A", "x", Value::Int(12)}})) << "of another time";
  RefuseNothing();
  ASSERT_TRUE(Within(std::chrono::seconds(20), [&] { return correct().has_value(); }));
  EXPECT_EQ(service_.server.RowsOf(kJournal), 0u);
  EXPECT_EQ(daemon.Read("H")[0].second.at("A:x@10"), "11");
}

TEST_F(JournalSweepTest, ALaterValueWaitsAlsoWhereTheRowWentInParts) {
  WholeDaemon daemon(service_, 0);
  RefuseRow("b");
  auto batch = daemon.NewBatch();
  std::vector<TestCell> cells;
  for (int i = 0; i <= kMutationsOfPart; ++i) {
    cells.push_back({"A", fmt::format("x{}", i), Value::Int(i)});
  }
  daemon.Put(batch.get(), "H", "a", 10, cells, false);
  daemon.Put(batch.get(), "H", "b", 10, {{"A", "x", Value::Int(1)}});
  EXPECT_FALSE(daemon.OutcomeOf(std::move(batch)));
  for (const std::string column : {"x0", "x99999", "x100000"}) {
    EXPECT_FALSE(daemon.Write("H", "a", 10, {{"A", column, Value::Int(-1)}})) << column;
  }
  RefuseNothing();
  EXPECT_TRUE(JournalEmpties());
}

TEST_F(JournalSweepTest, WhatIsFoundTooLateIsThereWithoutWhatItAddsAndToldSo) {
  LeaveOne();
  RefuseNothing();
  WholeDaemon daemon(service_, kTooLate);
  ASSERT_TRUE(Within(std::chrono::seconds(20), [&] { return daemon.FailedBatches() == 1; }));
  EXPECT_EQ(daemon.Read("H").size(), 2u);
  EXPECT_EQ(daemon.Read("C"), Rows());
  EXPECT_EQ(service_.server.RowsOf(kJournal), 1u) << "it stays there for whoever looks into it";
}

TEST_F(JournalSweepTest, WhatIsRefusedForTenMinutesIsGivenUp) {
  LeaveOne(0);
  {
    WholeDaemon early(service_, kAfterALease);
    service_.server.faults().Forget();
    ASSERT_TRUE(Within(std::chrono::seconds(20), [&] {
      return service_.server.faults().Count("Entry H") > 0;
    })) << "it is tried again";
    EXPECT_EQ(early.FailedBatches(), 0);
  }
  WholeDaemon late(service_, kTooLate);
  EXPECT_TRUE(Within(std::chrono::seconds(20), [&] { return late.FailedBatches() == 1; }));
  RefuseNothing();
  EXPECT_TRUE(late.OutcomeOf(late.BatchOf(11))) << "it keeps nobody from going on";
}

TEST_F(JournalSweepTest, ARemovalIsNotUndoneByWhatWasInTheJournalBefore) {
  WholeDaemon daemon(service_, 0);
  RefuseRow("b");
  EXPECT_FALSE(daemon.OutcomeOf(daemon.BatchOf(10, 0)));
  RefuseNothing();
  ASSERT_TRUE(daemon.Erase("H", RowDelete("a", "c")));
  EXPECT_EQ(service_.server.RowsOf(kJournal), 0u);
  EXPECT_EQ(daemon.Read("H"), Rows());
  EXPECT_EQ(daemon.Read("L").size(), 1u) << "all else of the batch is there";
}

TEST_F(JournalSweepTest, ARemovalThroughAnotherDaemonIsNotEither) {
  LeaveOne(0);
  RefuseNothing();
  WholeDaemon other(service_, kAfterALease);
  ASSERT_TRUE(other.Erase("H", RowDelete("a", "c")));
  ASSERT_TRUE(JournalEmpties());
  EXPECT_EQ(other.Read("H"), Rows());
  EXPECT_EQ(other.Read("L").size(), 1u);
}

TEST_F(JournalSweepTest, ADaemonWithoutWholeBatchesFinishesWhatOthersLeft) {
  LeaveOne();
  RefuseNothing();
  service_.whole_batches = false;
  WholeDaemon daemon(service_, kAfterALease);
  ASSERT_TRUE(JournalEmpties());
  EXPECT_EQ(daemon.Read("H").size(), 2u);
  EXPECT_FALSE(daemon.store().capabilities().whole_batches);
}

TEST_F(JournalSweepTest, ADaemonThatWasThereBeforeTheJournalDoesSo) {
  service_.whole_batches = false;
  WholeDaemon early(service_, kAfterALease);
  service_.whole_batches = true;
  LeaveOne();
  RefuseNothing();
  ASSERT_TRUE(JournalEmpties());
  EXPECT_EQ(early.Read("H").size(), 2u);
}

TEST_F(JournalSweepTest, TheFirstTryAfterAnOutageDoesNotDecide) {
  LeaveOne(0);
  service_.poll_us = kUsPerSecond;  // It would be given up after thirty of these.
  WholeDaemon late(service_, kTooLate);
  service_.server.faults().Forget();
  ASSERT_TRUE(Within(std::chrono::seconds(20),
                     [&] { return service_.server.faults().Count("Entry H") > 0; }));
  RefuseNothing();
  EXPECT_TRUE(JournalEmpties());
  EXPECT_EQ(late.FailedBatches(), 0);
}

TEST_F(JournalSweepTest, NeitherDoesItWhereOneBeforeTheOutageHadFailed) {
  LeaveOne(0);
  std::atomic<int> refused = 0;
  std::atomic<int> unread = 0;
  service_.server.faults().Script([&](const tablet::Call& call) -> tablet::Verdict {
    constexpr int kMoreThanThirtyPolls = 40;
    if (call.method == "ReadRows" && call.table == kJournal && refused == 1 &&
        unread < kMoreThanThirtyPolls) {
      ++unread;
      return {tablet::Outcome::kRefused, {grpc::StatusCode::PERMISSION_DENIED, "away"}};
    }
    if (call.method != "Entry" || call.row_key != "b" || refused == 2) return {};
    ++refused;
    return {tablet::Outcome::kRefused, {grpc::StatusCode::INVALID_ARGUMENT, "not yet"}};
  });
  WholeDaemon late(service_, kTooLate);
  EXPECT_TRUE(JournalEmpties());
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(late.FailedBatches(), 0);
}

TEST_F(JournalSweepTest, WhatANewerDaemonWroteIsNotGivenUpAtTheFirstLook) {
  LeaveOne(0);
  const auto client = service_.Connect();
  ManualClock clock;
  Journal journal(client.get(), &clock);
  const SteadyTime soon = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  ASSERT_TRUE(journal.Open());
  const std::string key = journal.List(soon)->at(0).key;
  std::vector<Journal::NewRow> newer{{key, (**journal.Read(key, soon)).bytes}};
  ++newer[0].bytes[0];
  journal.Write(&newer, soon);
  ASSERT_TRUE(newer[0].ended.ok());
  std::atomic<int> reads = 0;
  std::atomic<int> reads_until_given_up = 0;
  service_.server.faults().Script([&](const tablet::Call& call) -> tablet::Verdict {
    if (call.table != kJournal) return {};
    if (call.method == "ReadRows") ++reads;
    const bool is_first = call.method == "CheckAndMutateRow" && reads_until_given_up == 0;
    if (is_first) reads_until_given_up = reads.load();
    return {};
  });
  WholeDaemon late(service_, kTooLate);
  EXPECT_TRUE(Within(std::chrono::seconds(20), [&] { return late.FailedBatches() == 1; }));
  EXPECT_GT(reads_until_given_up, 3) << "one of its start, two of a look";
}

}  // namespace
}  // namespace tallyd
