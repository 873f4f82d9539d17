#include "storage/leveldb/seal/seal_context.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <thread>

#include "storage/leveldb/codec/entry_codec.h"
#include "tests/storage/leveldb/seal/seal_round_fixture.h"
#include "tests/storage/leveldb/seal/sealer_fixture.h"

namespace tallyd {
namespace {

using SealContextTest = SealerFixture;

TEST_F(SealContextTest, BelowTheFloorWhatFreesSpaceGoesOn) {
  std::atomic<uint64_t> free = 10'000 * kMiB;
  measure = [&](const std::string&) { return VolumeSpace{100'000 * kMiB, free}; };
  config().free_space_floor = 16 * kMiB;
  Table table = MakeTable("H");
  for (Family& family : table.families) family.max_age_us = 10 * kUsPerDay;
  config().seal_window_us = kUsPerDay;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  PutRows("H", "old", 100);
  ASSERT_TRUE(store().Settle());
  clock.Pass(5 * kUsPerDay);
  PutRows("H", "new", 100);
  free = 8 * kMiB;
  ASSERT_TRUE(Await([&] {
    const Status written = Write("H", "r", clock.Now(), {{"A", "x", Value::Int(1)}});
    return !written && written.error().code() == ErrorCode::kNoSpace;
  }));
  ASSERT_TRUE(Erase("H", RowDelete("new1", "new10050")));
  clock.Pass(6 * kUsPerDay);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(BlockFiles().size(), 1u) << "the expired file went, the head was sealed";
  ScanSpec rest;
  rest.ranges = {{"new", "o"}};
  EXPECT_EQ(Read("H", rest).size(), 50u);
  EXPECT_EQ(Told("pending_deletes"), 0u);
}

TEST_F(SealContextTest, AMergeTakesWhatWritesMayTakeBesideTheBallast) {
  std::atomic<uint64_t> free = 10'000 * kMiB;
  measure = [&](const std::string&) { return VolumeSpace{100'000 * kMiB, free}; };
  config().free_space_floor = 16 * kMiB;
  config().ballast = 4 * kMiB;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  for (const char* rows : {"a", "b"}) {
    PutRows("H", rows, 50);
    ASSERT_TRUE(store().Settle());
  }
  free = 17 * kMiB;  // The ballast is there: there need not be room for it once more.
  PutRows("H", "c", 50);
  const Status settled = store().Settle();
  EXPECT_TRUE(settled) << settled.error().message();
  EXPECT_EQ(BlockFiles().size(), 1u);
}

using SealRoundTest = SealRoundFixture;

// The last call to fail is the note of what base synced: by then the record is in base.
TEST_F(SealRoundTest, WhatAFailedCommitMadeIsJudgedByTheReopenedFilesAlone) {
  size_t rows = 0;
  int landed = 0;
  for (uint64_t call = 1;; ++call) {
    SCOPED_TRACE("fault at call " + std::to_string(call));
    ASSERT_TRUE(PutRow("r" + std::to_string(1000 + rows++)));
    ASSERT_NO_FATAL_FAILURE(BeginHead());
    ViewPtr before = view();
    context_->BeginRound(*before);
    disk_.FailAt(disk_.calls() + call, Fault::kIo, false);
    const Result<Progress> sealed = job_->Work(before);
    context_->BeginRound(*before);
    disk_.Heal();
    if (!disk_.failed()) break;
    before.reset();
    AwaitRecovery();
    const ViewPtr after = view();
    if (!sealed && after->heads.size() == 1) ++landed;
    for (const auto& [table, files] : after->files) {
      for (const BlockFilePtr& file : *files) {
        EXPECT_TRUE(std::filesystem::exists(file->path())) << file->path();
      }
    }
    context_->BeginRound(*after);
    engine_->database().Dispose();
    EXPECT_EQ(FilesOnDisk(), FilesOf(*after)) << "what is not on record goes";
    ASSERT_NO_FATAL_FAILURE(SealAll());
    if (HasFailure()) return;
  }
  EXPECT_GT(landed, 0);
  Stop();
  Reopen();
  EXPECT_EQ(Read("H").size(), rows);
  EXPECT_EQ(Gauge("tallyd_damaged_files"), 0);
}

TEST_F(SealRoundTest, WhatWasDecidedBeforeAReopenIsNotCommittedAfterIt) {
  ASSERT_TRUE(PutRow("r"));
  ASSERT_NO_FATAL_FAILURE(BeginHead());
  ASSERT_NO_FATAL_FAILURE(SealAll());
  const ViewPtr before = view();
  ASSERT_EQ(FilesOf(*before), 1u);
  context_->BeginRound(*before);
  const View::Files all = *before->files.begin()->second;
  disk_.FailAt(disk_.calls() + 1, Fault::kIo, false);
  ASSERT_FALSE(PutRow("failed"));
  AwaitRecovery();
  const Status replaced = context_->Replace(context_->NewBatch(), all, {}, nullptr);
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code(), ErrorCode::kUnavailable);
  const Status recorded = context_->CommitRecords({{FileNoteKey(77), "note"}});
  ASSERT_FALSE(recorded);
  EXPECT_EQ(recorded.error().code(), ErrorCode::kUnavailable);
  const ViewPtr after = view();
  context_->BeginRound(*after);
  EXPECT_EQ(FilesOf(*after), 1u);
  EXPECT_EQ(FilesOnDisk(), 1u);
  EXPECT_TRUE(context_->Replace(context_->NewBatch(), *after->files.begin()->second, {}, nullptr));
  EXPECT_EQ(FilesOf(*view()), 0u);
}

TEST(SealJobTest, WhatIsDueInCenturiesIsLookedAtInAMinute) {
  for (const TimeUs left :
       {kUsPerDay, kMaxTimeUs, 2 * kMaxTimeUs, std::numeric_limits<TimeUs>::max()}) {
    const auto before = std::chrono::steady_clock::now();
    const SealJob::Time next = SealJob::LookAgain(left);
    EXPECT_GE(next, before + std::chrono::minutes(1)) << left;
    EXPECT_LE(next, std::chrono::steady_clock::now() + std::chrono::minutes(1)) << left;
  }
}

TEST(SealJobTest, WhatIsDueSoonIsLookedAtThen) {
  const auto before = std::chrono::steady_clock::now();
  const SealJob::Time next = SealJob::LookAgain(1000);
  EXPECT_GE(next, before + std::chrono::milliseconds(1));
  EXPECT_LT(next, std::chrono::steady_clock::now() + std::chrono::seconds(1));
}

}  // namespace
}  // namespace tallyd
