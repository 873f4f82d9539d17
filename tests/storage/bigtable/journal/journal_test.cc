#include "storage/bigtable/journal/journal.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/storage/bigtable/service.h"
#include "tests/storage/store_verbs.h"

namespace tallyd {
namespace {

SteadyTime Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(a_.Open());
    ASSERT_TRUE(b_.Open());
  }
  static std::unique_ptr<BigtableClient> ConnectTo(BigtableService* service) {
    service->whole_batches = true;
    return service->Connect();
  }
  void Write(const std::string& key, const std::string& bytes = "batch") {
    std::vector<Journal::NewRow> rows{{key, bytes}};
    a_.Write(&rows, Soon());
    ASSERT_TRUE(rows[0].ended.ok()) << rows[0].ended.message;
  }
  Journal::Mark MarkOf(const std::string& key) { return (**b_.Read(key, Soon())).mark; }
  bool Takes(Journal* journal, const Journal::Mark& mark) {
    return journal->Take({&mark, 1}, Soon())->front();
  }

  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = ConnectTo(&service_);
  ManualClock clock_;
  Journal a_{client_.get(), &clock_};
  Journal b_{client_.get(), &clock_};
};

TEST_F(JournalTest, ARowIsItsWritersUntilTheLeaseEnds) {
  Write("k");
  EXPECT_TRUE(b_.IsOthers(MarkOf("k")));
  EXPECT_TRUE(a_.IsOthers(MarkOf("k"))) << "it is under way";
  clock_.now += Journal::kLeaseUs + 1;
  EXPECT_FALSE(b_.IsOthers(MarkOf("k")));
  const std::string key = "k";
  a_.LetGo({&key, 1});
  EXPECT_FALSE(a_.IsOthers(MarkOf("k")));
}

TEST_F(JournalTest, OfTwoThatReadTheSameLeaseOneGetsIt) {
  Write("k");
  clock_.now += Journal::kLeaseUs + 1;
  const Journal::Mark mark = MarkOf("k");
  EXPECT_TRUE(Takes(&b_, mark));
  EXPECT_FALSE(Takes(&a_, mark));
  EXPECT_TRUE(a_.IsOthers(MarkOf("k")));
}

TEST_F(JournalTest, WhoCountsWithoutTokensLeavesAWordThatWhoeverTakesItSees) {
  Write("k");
  const Journal::Mark before = MarkOf("k");
  clock_.now += 1;
  EXPECT_TRUE(*a_.BeginCounting("k", Soon()));
  EXPECT_FALSE(Takes(&b_, before)) << "what was read before says nothing of it";
  EXPECT_TRUE(MarkOf("k").has_begun_counting);
  EXPECT_TRUE(Takes(&b_, MarkOf("k")));
  EXPECT_FALSE(*a_.BeginCounting("k", Soon()));
}

TEST_F(JournalTest, ALongBatchIsInPieces) {
  std::string bytes;
  for (int i = 0; bytes.size() < (17u << 20); ++i) bytes += std::to_string(i);
  Write("k", bytes);
  EXPECT_TRUE((**b_.Read("k", Soon())).bytes == bytes);
}

TEST_F(JournalTest, WhatIsGivenUpStaysAndIsNotPending) {
  Write("k");
  EXPECT_TRUE(*b_.IsPending("k", Soon()));
  EXPECT_FALSE(*b_.GiveUp("k", "why so", Soon())) << "it is another's";
  EXPECT_TRUE(*a_.GiveUp("k", "why so", Soon()));
  EXPECT_FALSE(*b_.IsPending("k", Soon()));
  const std::vector<Journal::Mark> marks = *b_.List(Soon());
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].failed, "why so");
}

TEST_F(JournalTest, AnErasedRowIsNobodysAndComesBackByNothing) {
  Write("k");
  const Journal::Mark mark = MarkOf("k");
  const std::string key = "k";
  EXPECT_TRUE(a_.Erase({&key, 1}, Soon())[0].ok());
  EXPECT_FALSE(Takes(&b_, mark));
  EXPECT_FALSE(*a_.BeginCounting("k", Soon()));
  EXPECT_TRUE(b_.List(Soon())->empty());
}

TEST_F(JournalTest, KeysBeginAtRandom) {
  EXPECT_EQ(Journal::NewKey().size(), 32u);
  EXPECT_NE(Journal::NewKey(), Journal::NewKey());
}

TEST(JournalTableTest, IsMadeWhereItIsWrittenToAndNowhereElse) {
  BigtableService service;
  const std::unique_ptr<BigtableClient> without = service.Connect();
  service.whole_batches = true;
  const std::unique_ptr<BigtableClient> with = service.Connect();
  ManualClock clock;
  Journal idle(without.get(), &clock);
  ASSERT_TRUE(idle.Open());
  EXPECT_FALSE(idle.is_there());
  EXPECT_FALSE(*idle.IsPending("k", Soon()));
  Journal made(with.get(), &clock);
  ASSERT_TRUE(made.Open());
  EXPECT_TRUE(made.is_there());
  ASSERT_TRUE(idle.Open());
  EXPECT_TRUE(idle.is_there()) << "what others left is finished by anybody";
  EXPECT_FALSE(idle.takes_batches());
}

}  // namespace
}  // namespace tallyd
