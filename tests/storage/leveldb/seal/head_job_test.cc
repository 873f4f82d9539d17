#include "storage/leveldb/seal/head_job.h"

#include <gtest/gtest.h>

#include "tests/storage/leveldb/seal/seal_round_fixture.h"
#include "tests/storage/leveldb/seal/sealer_fixture.h"

namespace tallyd {
namespace {

using HeadJobTest = SealerFixture;

TEST_F(HeadJobTest, AnOldHeadIsSealed) {
  config().seal_delay_us = 1000;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  PutRows("H", "r", 10);
  // The file is there before the head is gone.
  EXPECT_TRUE(
      Await([&] { return BlockFiles().size() == 1 && store().State().unsealed_bytes == 0; }));
}

TEST_F(HeadJobTest, AFullHeadIsSealedHoweverYoung) {
  config().write_buffer = 4096;
  config().seal_delay_us = kUsPerDay;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  PutRows("H", "r", 1000);
  EXPECT_TRUE(Await([&] { return Metric("tallyd_store_sealed_heads_total") >= 1; }));
  EXPECT_EQ(Read("H").size(), 1000u);
}

TEST_F(HeadJobTest, AHeadWithADeleteIsSealedSoon) {
  config().seal_delay_us = kUsPerDay;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  PutRows("H", "r", 10);
  ASSERT_TRUE(Erase("H", RowDelete("r", "r10005")));
  EXPECT_TRUE(Await([&] { return Told("pending_deletes") == 0; }));
  EXPECT_EQ(Read("H").size(), 5u);
}

// However many they are, the memory that this takes is bounded, and so is the wait of others.
TEST_F(HeadJobTest, LatestRowsGoToBaseInPieces) {
  config().seal_delay_us = kUsPerDay;
  set_rows_at_once(10);
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("L", Pattern::kLatest)})));
  PutRows("L", "r", 500);
  PutRows("L", "r", 500);
  const auto rows = Read("L");
  const double before = Metric("tallyd_commits_total");
  ASSERT_TRUE(store().Settle());
  EXPECT_GE(Metric("tallyd_commits_total") - before, 50);
  EXPECT_LE(Metric("tallyd_commits_total") - before, 60) << "each row goes once";
  Reopen();
  EXPECT_EQ(Read("L"), rows);
}

using HeadRoundTest = SealRoundFixture;

// Where the share of a core still counted, the newest head would grow for as long as another is
// sealed.
TEST_F(HeadRoundTest, HeadsPileUpOnceTheNewestHasAQuarterOfItsSizeBehindAClosedOne) {
  constexpr uint64_t kHeadBytes = 4096;
  const auto fill = [&](uint64_t bytes) {
    while (view()->heads.back()->bytes() < bytes) ASSERT_TRUE(PutRow("r"));
  };
  fill(kHeadBytes);
  EXPECT_FALSE(HeadsPileUp(*view(), kHeadBytes)) << "it is yet to be closed";
  BeginHead();
  ASSERT_TRUE(PutRow("r"));
  EXPECT_FALSE(HeadsPileUp(*view(), kHeadBytes)) << "the next one has hardly anything";
  fill(kHeadBytes / 4);
  EXPECT_TRUE(HeadsPileUp(*view(), kHeadBytes));
  BeginHead();
  EXPECT_TRUE(HeadsPileUp(*view(), kHeadBytes)) << "two are closed";
  SealAll();
  EXPECT_FALSE(HeadsPileUp(*view(), kHeadBytes));
}

class FullHeadTest : public SealRoundFixture {
 protected:
  void SetUp() override {
    config().write_buffer = 4096;
    SealRoundFixture::SetUp();
  }
  void Work() {
    const ViewPtr now = view();
    context_->BeginRound(*now);
    ASSERT_TRUE(job_->Work(now));
  }
};

TEST_F(FullHeadTest, AHeadThatBecameFullBeginsABurstAndNoOtherDoes) {
  ASSERT_TRUE(PutRow("r"));
  ASSERT_NO_FATAL_FAILURE(Work());
  EXPECT_EQ(view()->heads.size(), 2u) << "it settles";
  EXPECT_EQ(context_->burst_until, SealJob::Time::min());
  ASSERT_NO_FATAL_FAILURE(SealAll());
  while (view()->heads.back()->bytes() < engine_->head_bytes()) ASSERT_TRUE(PutRow("r"));
  context_->settle = {};
  const auto before = std::chrono::steady_clock::now();
  ASSERT_NO_FATAL_FAILURE(Work());
  EXPECT_EQ(view()->heads.size(), 2u);
  EXPECT_GT(context_->burst_until, before);
}

TEST_F(FullHeadTest, TheHeadBehindOneThatBecameFullSoonHasRoomForAsMuch) {
  ASSERT_TRUE(PutRow("r"));
  ASSERT_NO_FATAL_FAILURE(Work());
  ASSERT_NO_FATAL_FAILURE(SealAll());
  EXPECT_EQ(disk_.room_asked(), 0u) << "it settles";
  context_->settle = {};
  const auto before = std::chrono::steady_clock::now();
  while (view()->heads.back()->bytes() < engine_->head_bytes()) ASSERT_TRUE(PutRow("r"));
  const uint64_t full = view()->heads.back()->bytes();
  ASSERT_NO_FATAL_FAILURE(Work());
  if (std::chrono::steady_clock::now() - before > std::chrono::seconds(4)) {
    GTEST_SKIP() << "this day the head did not become full soon";
  }
  EXPECT_EQ(disk_.room_asked(), full);
}

// Where no commit waits for an fsync it would be written for nothing.
class FullHeadOfIntervalsTest : public FullHeadTest {
 protected:
  void SetUp() override {
    config().sync = Sync::kInterval;
    FullHeadTest::SetUp();
  }
};

// A batch that deletes and puts, in the newest head: what it deletes in the one before is left out
// when that is sealed.
TEST_F(FullHeadOfIntervalsTest, ADeleteThatSealingAppliedSurvivesAPowerCutWithItsBatch) {
  config().sync_interval_us = 3'600'000'000;
  ASSERT_TRUE(PutRow("old"));
  ASSERT_NO_FATAL_FAILURE(BeginHead());
  auto batch = NewBatch();
  batch->Delete(TableOf("H"), RowDelete("old", "old0"));
  AddRow(batch.get(), "H", "new", Value::Int(7));
  ASSERT_TRUE(committer_->Commit(std::move(batch)));
  ASSERT_NO_FATAL_FAILURE(SealAll());
  disk_.CutAt(disk_.calls() + 1);
  Stop();
  disk_.LosePower(Loss::kAll, 1);
  Reopen();
  std::vector<std::string> rows;
  for (const auto& [key, cells] : Read("H")) rows.push_back(key);
  EXPECT_EQ(rows, std::vector<std::string>{"new"});
}

TEST_F(FullHeadOfIntervalsTest, TheNextHeadHasNoRoomAhead) {
  context_->settle = {};
  while (view()->heads.back()->bytes() < engine_->head_bytes()) ASSERT_TRUE(PutRow("r"));
  ASSERT_NO_FATAL_FAILURE(Work());
  EXPECT_EQ(view()->heads.size(), 2u);
  EXPECT_EQ(disk_.room_asked(), 0u);
}

// Else a merge that has to let heads go first, one after the other, would hold all of them.
TEST_F(HeadRoundTest, HeadsThatWereSealedMeanwhileAreGone) {
  for (int head = 0; head < 3; ++head) {
    ASSERT_TRUE(PutRow("r" + std::to_string(head)));
    ASSERT_NO_FATAL_FAILURE(BeginHead());
  }
  ASSERT_EQ(view()->heads.size(), 4u);
  context_->BeginRound(*view());
  ASSERT_TRUE(job_->Yield());
  EXPECT_EQ(view()->heads.size(), 1u);
  const std::filesystem::directory_iterator heads(HeadsDirectory(config().path));
  EXPECT_EQ(std::distance(begin(heads), end(heads)), 1);
}

}  // namespace
}  // namespace tallyd
