#include "storage/bigtable/catalogue/claim_rows.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tests/storage/bigtable/service.h"
#include "tests/storage/store_verbs.h"

namespace tallyd {
namespace {

using Fate = Claiming::Fate;

constexpr TimeUs kAfterALease = 11 * kUsPerSecond;

class ClaimRowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    clock_.now = 1'700'000'000'000'000;
    ASSERT_TRUE(rows_.Open());
  }
  Status Keep(const Claiming::Held& claim) { return claims_.Keep({&claim, 1}); }
  Status Release(const Claiming::Held& claim) { return claims_.Release({&claim, 1}); }
  size_t Left() { return rows_.ReadRange(PrefixRange("k/"), 0)->size(); }

  const Claiming::Held a_{"key", "a"};
  const Claiming::Held b_{"key", "b"};
  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
  CatalogueRows rows_{client_.get()};
  ManualClock clock_;
  Journal journal_{client_.get(), &clock_};
  ClaimRows claims_{&rows_, &journal_, &clock_};
};

TEST_F(ClaimRowsTest, OfTwoOneHasItUntilItIsGivenBack) {
  EXPECT_EQ(*claims_.Claim(a_), Fate::kOwn);
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOthers);
  EXPECT_EQ(*claims_.Claim({"other", "b"}), Fate::kOwn);
  ASSERT_TRUE(Release(a_));
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOwn);
  ASSERT_TRUE(Release(a_)) << "which has it no more";
  EXPECT_EQ(*claims_.Claim(a_), Fate::kOthers);
}

TEST_F(ClaimRowsTest, DoNotWaitBehindRowsThatKeepToTheServicesPace) {
  SlowDown(client_.get());
  const Result<Fate> claimed = claims_.Claim(a_);
  ASSERT_TRUE(claimed) << claimed.error().message();
  EXPECT_EQ(*claimed, Fate::kOwn);
  EXPECT_TRUE(Keep(a_));
}

TEST_F(ClaimRowsTest, WhoIsLostLosesItAfterALeaseAndWhoKeepsItDoesNot) {
  EXPECT_EQ(*claims_.Claim(a_), Fate::kOwn);
  clock_.now += 9 * kUsPerSecond;
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOthers);
  ASSERT_TRUE(Keep(a_));
  clock_.now += 9 * kUsPerSecond;
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOthers);
  clock_.now += kAfterALease;
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOwn);
  ASSERT_TRUE(Keep(a_)) << "it comes too late, and changes nothing";
  EXPECT_FALSE(*claims_.BeginCounting(a_)) << "nor does it count any more";
  EXPECT_TRUE(*claims_.BeginCounting(b_));
}

TEST_F(ClaimRowsTest, WhoIsLostWhileItCountsLeavesADoubtForADay) {
  EXPECT_EQ(*claims_.Claim(a_), Fate::kOwn);
  EXPECT_TRUE(*claims_.BeginCounting(a_));
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOthers) << "it may be at it still";
  clock_.now += kAfterALease;
  EXPECT_EQ(*claims_.Claim(b_), Fate::kInDoubt);
  clock_.now += kUsPerDay;
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOwn);
}

TEST_F(ClaimRowsTest, WhatIsCountedLeavesNone) {
  EXPECT_EQ(*claims_.Claim(a_), Fate::kOwn);
  EXPECT_TRUE(*claims_.BeginCounting(a_));
  ASSERT_TRUE(rows_.Write({ClaimRows::CountedEntry("key")}));
  ASSERT_TRUE(Release(a_));
  EXPECT_EQ(Left(), 0u);
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOwn);
}

TEST_F(ClaimRowsTest, AClaimOfAClockThatWasFarAheadEndsAllTheSame) {
  clock_.now += 365 * kUsPerDay;
  EXPECT_EQ(*claims_.Claim(a_), Fate::kOwn);
  clock_.now -= 365 * kUsPerDay;
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOwn);
  clock_.now += 365 * kUsPerDay;
  ASSERT_TRUE(Keep(b_));
  clock_.now -= 365 * kUsPerDay;
  ASSERT_TRUE(claims_.SweepClaims());
  EXPECT_EQ(Left(), 1u) << "it was kept by the right clock, too";
  clock_.now += kAfterALease;
  ASSERT_TRUE(claims_.SweepClaims());
  EXPECT_EQ(Left(), 0u);
}

TEST_F(ClaimRowsTest, ADoubtOfAClockThatWasFarAheadIsOneAllTheSame) {
  clock_.now += 365 * kUsPerDay;
  EXPECT_EQ(*claims_.Claim(a_), Fate::kOwn);
  EXPECT_TRUE(*claims_.BeginCounting(a_));
  clock_.now -= 365 * kUsPerDay;
  EXPECT_EQ(*claims_.Claim(b_), Fate::kInDoubt);
}

TEST_F(ClaimRowsTest, ALostAnswerIsNotAnothersClaim) {
  int calls = 0;
  service_.server.faults().Script([&calls](const tablet::Call& call) -> tablet::Verdict {
    if (call.method != "CheckAndMutateRow" || calls++ > 0) return {};
    return {tablet::Outcome::kUnanswered, {grpc::StatusCode::UNAVAILABLE, "lost"}};
  });
  EXPECT_EQ(*claims_.Claim(a_), Fate::kOwn);
  EXPECT_EQ(calls, 2);
}

TEST_F(ClaimRowsTest, WhatHasEndedIsSweptAndNothingElse) {
  EXPECT_EQ(*claims_.Claim(a_), Fate::kOwn);
  EXPECT_EQ(*claims_.Claim({"doubt", "a"}), Fate::kOwn);
  EXPECT_TRUE(*claims_.BeginCounting({"doubt", "a"}));
  clock_.now += kAfterALease;
  EXPECT_EQ(*claims_.Claim({"new", "b"}), Fate::kOwn);
  ASSERT_TRUE(claims_.SweepClaims());
  EXPECT_EQ(Left(), 2u);
  EXPECT_EQ(*claims_.Claim({"doubt", "b"}), Fate::kInDoubt);
  EXPECT_EQ(*claims_.Claim({"new", "a"}), Fate::kOthers);
}

TEST_F(ClaimRowsTest, WhatHasEndedIsSweptBehindAnyNumberOfThoseThatHaveNot) {
  constexpr int kAlive = 1500;
  const TimeUs until = clock_.now + kUsPerDay;
  std::vector<CatalogueEntry> alive(kAlive);
  for (int i = 0; i < kAlive; ++i) {
    alive[i].set_row_key("k/alive" + std::to_string(i));
    SetCatalogueCell("d", std::to_string(until) + " a", until, &alive[i]);
  }
  ASSERT_TRUE(rows_.Write(std::move(alive)));
  EXPECT_EQ(*claims_.Claim({"ended", "a"}), Fate::kOwn);
  clock_.now += kAfterALease;
  ASSERT_TRUE(claims_.SweepClaims());
  EXPECT_EQ(Left(), static_cast<size_t>(kAlive));
}

class JournaledClaimTest : public ClaimRowsTest {
 protected:
  static BigtableConfig Whole(BigtableConfig config) {
    config.whole_batches = true;
    return config;
  }
  void SetUp() override {
    ClaimRowsTest::SetUp();
    Journal making(whole_.get(), &clock_);
    ASSERT_TRUE(making.Open());
    ASSERT_EQ(*claims_.Claim(a_), Fate::kOwn);
  }
  bool Begin(const Claiming::Held& claim, const std::string& row) {
    const ClaimRows::Journaled batch{claim, row};
    return claims_.BeginJournaling({&batch, 1})->front();
  }
  void Write(const std::string& row) {
    std::vector<Journal::NewRow> rows{{row, "batch"}};
    journal_.Write(&rows, std::chrono::steady_clock::now() + std::chrono::seconds(10));
  }
  void Erase(const std::string& row) {
    (void)journal_.Erase({&row, 1}, std::chrono::steady_clock::now() + std::chrono::seconds(10));
  }

  const std::unique_ptr<BigtableClient> whole_ =
      std::move(*BigtableClient::Make(Whole(service_.Config())));
};

TEST_F(JournaledClaimTest, NobodyElseGetsItWhileItsBatchIsInTheJournal) {
  ASSERT_TRUE(Begin(a_, "row"));
  Write("row");
  clock_.now += kAfterALease;
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOthers);
  EXPECT_TRUE(*claims_.BeginCountingJournaled("key", "row"));
  ASSERT_TRUE(claims_.EndJournaled("key", "row"));
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOwn) << "its answer is remembered by then";
}

TEST_F(JournaledClaimTest, WhoTakesOverABatchThatNeverGotThereLetsItNotCount) {
  ASSERT_TRUE(Begin(a_, "row"));
  clock_.now += kAfterALease;
  EXPECT_EQ(*claims_.Claim(b_), Fate::kOwn);
  EXPECT_FALSE(Begin(a_, "another"));
  Write("row");
  EXPECT_FALSE(*claims_.IsJournaled("key", "row"));
  EXPECT_FALSE(*claims_.BeginCountingJournaled("key", "row"));
}

TEST_F(JournaledClaimTest, ABatchThatWentWithoutAWordLeavesADoubtIfItCounted) {
  ASSERT_TRUE(Begin(a_, "row"));
  Write("row");
  EXPECT_TRUE(*claims_.BeginCountingJournaled("key", "row"));
  Erase("row");
  clock_.now += kAfterALease;
  EXPECT_EQ(*claims_.Claim(b_), Fate::kInDoubt);
}

}  // namespace
}  // namespace tallyd
