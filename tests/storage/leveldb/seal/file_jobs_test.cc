#include "storage/leveldb/seal/file_jobs.h"

#include <gtest/gtest.h>
#include <leveldb/db.h>

#include <atomic>
#include <future>
#include <memory>

#include "tests/storage/fault_env.h"
#include "tests/storage/leveldb/seal/seal_round_fixture.h"
#include "tests/storage/leveldb/seal/sealer_fixture.h"

namespace tallyd {
namespace {

using MergeJobTest = SealerFixture;

TEST_F(MergeJobTest, AMergeForWhichThereIsNoRoomWritesNothing) {
  std::atomic<uint64_t> free = 10'000 * kMiB;
  measure = [&](const std::string&) { return VolumeSpace{100'000 * kMiB, free}; };
  config().free_space_floor = 16 * kMiB;
  config().seal_delay_us = 1000;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  for (int i = 0; i < 5; ++i) {
    const double heads = Metric("tallyd_store_sealed_heads_total");
    PutRows("H", "r" + std::to_string(i), 50);
    ASSERT_TRUE(Await([&] { return Metric("tallyd_store_sealed_heads_total") > heads; }));
  }
  free = 16 * kMiB;
  const size_t before = BlockFiles().size();
  const Status settled = store().Settle();
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(BlockFiles().size(), before);
  free = 10'000 * kMiB;
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(BlockFiles().size(), 1u);
}

TEST_F(MergeJobTest, FilesOfOneWindowBecomeOneWithoutBeingAsked) {
  config().seal_delay_us = 1000;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  for (int i = 0; i < 8; ++i) {
    const double heads = Metric("tallyd_store_sealed_heads_total");
    PutRows("H", "r" + std::to_string(i), 50);
    ASSERT_TRUE(Await([&] { return Metric("tallyd_store_sealed_heads_total") > heads; }));
  }
  EXPECT_TRUE(Await([&] { return BlockFiles().size() == 1; }));
  EXPECT_EQ(Read("H").size(), 400u);
  EXPECT_GT(Metric("tallyd_store_merged_bytes_total"), 0);
}

using MergeRoundTest = SealRoundFixture;

TEST_F(MergeRoundTest, TheSmallestMergeGoesFirst) {
  constexpr TimeUs kLate = 40 * kUsPerDay;
  const ColumnRef column{0, "x"};
  for (int i = 0; i < 8; ++i) {
    auto batch = NewBatch();
    for (int row = 0; row < 500; ++row) {
      AddRow(batch.get(), "H", std::to_string(i) + "#" + std::to_string(row), Value::Int(row));
    }
    const Value value = Value::Int(i);
    batch->Put(TableOf("H"), "late" + std::to_string(i), kLate, {&column, 1}, {&value, 1});
    ASSERT_TRUE(committer_->Commit(std::move(batch)));
    ASSERT_NO_FATAL_FAILURE(BeginHead());
    ASSERT_NO_FATAL_FAILURE(SealAll());
  }
  context_->settle = {};
  MergeJob merge(context_.get(), [] { return Status(); });
  const auto files = [&](bool late) {
    size_t count = 0;
    for (const auto& [table, of_table] : view()->files) {
      for (const BlockFilePtr& file : *of_table) count += (file->info().min_time == kLate) == late;
    }
    return count;
  };
  ASSERT_EQ(files(false), 8u);
  ASSERT_EQ(files(true), 8u);
  for (const size_t early_left : {8, 1}) {
    const ViewPtr now = view();
    context_->BeginRound(*now);
    const Result<Progress> merged = merge.Work(now);
    ASSERT_TRUE(merged);
    EXPECT_EQ(*merged, Progress::kSome);
    EXPECT_EQ(files(true), 1u);
    EXPECT_EQ(files(false), early_left);
  }
}

TEST_F(MergeRoundTest, InABurstAMergeOfSmallFilesWaits) {
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(PutRow("r" + std::to_string(i)));
    ASSERT_NO_FATAL_FAILURE(BeginHead());
    ASSERT_NO_FATAL_FAILURE(SealAll());
  }
  context_->settle = {};
  MergeJob merge(context_.get(), [] { return Status(); });
  const ViewPtr now = view();
  context_->BeginRound(*now);
  context_->burst_until = std::chrono::steady_clock::now() + std::chrono::hours(1);
  const Result<Progress> waits = merge.Work(now);
  ASSERT_TRUE(waits);
  EXPECT_EQ(*waits, Progress::kNone);
  EXPECT_EQ(merge.next(), context_->burst_until);
  EXPECT_EQ(FilesOf(*view()), 8u);

  context_->burst_until = std::chrono::steady_clock::now();
  MergeJob later(context_.get(), [] { return Status(); });
  const Result<Progress> merged = later.Work(now);
  ASSERT_TRUE(merged);
  EXPECT_EQ(*merged, Progress::kSome);
  EXPECT_EQ(FilesOf(*view()), 1u);
}

class CappedMergeTest : public SealRoundFixture {
 protected:
  void SetUp() override {
    Table capped = MakeTable("H");
    capped.max_bytes = 1000 * kMiB;
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({capped})));
    Close();
    ASSERT_TRUE(OpenEngine());
    ASSERT_TRUE(engine_->state().catalogue.AdoptUnchanged(MakeSchema({capped})));
    StartRounds();
  }
};

TEST_F(CappedMergeTest, WaitsInNoBurst) {
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(PutRow("r" + std::to_string(i)));
    ASSERT_NO_FATAL_FAILURE(BeginHead());
    ASSERT_NO_FATAL_FAILURE(SealAll());
  }
  context_->settle = {};
  context_->burst_until = std::chrono::steady_clock::now() + std::chrono::hours(1);
  MergeJob merge(context_.get(), [] { return Status(); });
  const ViewPtr now = view();
  context_->BeginRound(*now);
  const Result<Progress> merged = merge.Work(now);
  ASSERT_TRUE(merged);
  EXPECT_EQ(*merged, Progress::kSome);
  EXPECT_EQ(FilesOf(*view()), 1u);
}

using ExpiryJobTest = SealerFixture;

TEST_F(ExpiryJobTest, AFileGoesWhenItsNewestCellHasExpiredAndNotBefore) {
  Table table = MakeTable("H");
  for (Family& family : table.families) family.max_age_us = 10 * kUsPerDay;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  PutRows("H", "r", 10);
  ASSERT_TRUE(store().Settle());
  clock.Pass(10 * kUsPerDay);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(BlockFiles().size(), 1u);
  clock.Pass(1);
  ASSERT_TRUE(store().Settle());
  EXPECT_TRUE(BlockFiles().empty());
}

TEST_F(ExpiryJobTest, AFamilyThatKeepsForEverKeepsTheFile) {
  Table table = MakeTable("H");
  table.families[0].max_age_us = kUsPerDay;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  PutRows("H", "r", 10);
  ASSERT_TRUE(store().Settle());
  clock.Pass(10 * kUsPerDay);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(BlockFiles().size(), 1u);
}

// A sum with such an age overflows.
TEST_F(ExpiryJobTest, AnAgeBeyondAllTimesExpiresNothing) {
  Table table = MakeTable("H");
  for (Family& family : table.families) {
    family.max_age_us = std::numeric_limits<int64_t>::max() - kUsPerDay;
  }
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  PutRows("H", "r", 10);
  ASSERT_TRUE(store().Settle());
  clock.Pass(10 * kUsPerDay);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(BlockFiles().size(), 1u);
  EXPECT_EQ(Read("H").size(), 10u);
}

TEST_F(ExpiryJobTest, TheFilesOfADroppedTableGo) {
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H"), MakeTable("G")})));
  PutRows("H", "r", 10);
  PutRows("G", "r", 10);
  ASSERT_TRUE(store().Settle());
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("G")})));
  ASSERT_TRUE(store().DropTable("H"));
  EXPECT_TRUE(Await([&] { return BlockFiles().size() == 1; }));
  EXPECT_EQ(Read("G").size(), 10u);
}

// Its rounds are made by the test, and the queue has room for one batch.
class ExpiryRoundTest : public SealRoundFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    config().queue_bytes = 1;
    StartRounds();
  }

  // One that holds the committer up, and changes nothing in the end.
  std::unique_ptr<LevelDbBatch> NewBatchThatCalls(std::function<void()> call) {
    auto batch = NewBatch();
    batch->CommitAlone([call = std::move(call)]() -> Status {
      call();
      return Error(ErrorCode::kConflict, "it was to wait");
    });
    return batch;
  }
};

TEST_F(ExpiryRoundTest, WhatAFullQueueRefusedGoesTheNextTime) {
  ASSERT_TRUE(PutRow("r"));
  ASSERT_NO_FATAL_FAILURE(BeginHead());
  ASSERT_NO_FATAL_FAILURE(SealAll());
  context_->settle = {};
  ExpiryJob expiry(context_.get());
  const ViewPtr sealed = view();
  ASSERT_EQ(FilesOf(*sealed), 1u);
  context_->BeginRound(*sealed);
  engine_->state().catalogue.Reload({});

  std::promise<void> held_up;
  std::promise<void> go_on;
  std::promise<void> went_on;
  committer_->Submit(NewBatchThatCalls([&] {
                       held_up.set_value();
                       go_on.get_future().wait();
                     }),
                     [](const Status&) {});
  held_up.get_future().wait();
  committer_->Submit(NewBatchThatCalls([] {}), [&](const Status&) { went_on.set_value(); });
  const Result<Progress> refused = expiry.Work(sealed);
  go_on.set_value();
  went_on.get_future().wait();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kOverloaded);

  ASSERT_EQ(view(), sealed);
  const Result<Progress> dropped = expiry.Work(sealed);
  ASSERT_TRUE(dropped);
  EXPECT_EQ(*dropped, Progress::kSome);
  EXPECT_EQ(FilesOf(*view()), 0u);
}

using PurgeJobTest = SealerFixture;

TEST_F(PurgeJobTest, ForgettingOneRowDoesNotRewriteItsFileUntilTheDeadline) {
  config().purge_deadline_us = kUsPerDay;
  config().seal_delay_us = 1000;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  for (int i = 0; i < 5; ++i) PutRows("H", "r" + std::to_string(i), 5000);
  ASSERT_TRUE(store().Settle());
  const double merged = Metric("tallyd_store_merged_bytes_total");
  const double heads = Metric("tallyd_store_sealed_heads_total");
  ASSERT_TRUE(Erase("H", RowDelete("r210017", "r210018")));
  ASSERT_TRUE(Await([&] { return Metric("tallyd_store_sealed_heads_total") > heads; }));
  EXPECT_EQ(Read("H").size(), 24'999u) << "readers see it at once";
  EXPECT_EQ(Told("pending_deletes"), 1u);
  EXPECT_EQ(Metric("tallyd_store_merged_bytes_total"), merged);
  clock.now += kUsPerDay;
  // Each wakes the sealer, which has a head to seal first: not so often that it does nothing else.
  int looks = 0;
  EXPECT_TRUE(Await([&] {
    if (looks++ % 100 == 0) PutRows("H", "wake", 1);
    return Told("pending_deletes") == 0;
  }));
  EXPECT_EQ(Read("H").size(), 25'000u);
}

// Each file spans the key of every row, and one has it.
TEST_F(PurgeJobTest, FilesThatHoldNothingOfADeletedRowAreNotWrittenAgain) {
  constexpr int kDays = 14;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  for (int day = 0; day < kDays; ++day) {
    auto batch = NewBatch();
    for (int i = day; i < 20 * kDays; i += kDays) {
      StoreHarness::Put(batch.get(), "H", "r" + std::to_string(10'000 + i), day * kUsPerDay,
                        {{"A", "x", Value::Int(i)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  ASSERT_TRUE(store().Settle());
  const std::vector<std::filesystem::path> before = BlockFiles();
  ASSERT_EQ(before.size(), static_cast<size_t>(kDays));
  ASSERT_TRUE(Erase("H", RowDelete("r10100", "r10101")));
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Told("pending_deletes"), 0u);
  EXPECT_EQ(Read("H").size(), 20u * kDays - 1);
  const std::vector<std::filesystem::path> after = BlockFiles();
  std::vector<std::filesystem::path> stayed;
  std::ranges::set_intersection(before, after, std::back_inserter(stayed));
  EXPECT_EQ(stayed.size(), before.size() - 1);

  // One that no file has is known to be done.
  const double merged = Metric("tallyd_store_merged_bytes_total");
  ASSERT_TRUE(Erase("H", RowDelete("r10100", "r10101")));
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Told("pending_deletes"), 0u);
  EXPECT_EQ(Metric("tallyd_store_merged_bytes_total"), merged);
}

TEST_F(PurgeJobTest, ADeleteOfRowsThatNoFileHasIsForgottenWithoutReadingBlocks) {
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  PutRows("H", "a", 100);
  PutRows("H", "z", 100);
  ASSERT_TRUE(store().Settle());
  FlipByteAt(BlockFiles()[0], 20);
  const double merged = Metric("tallyd_store_merged_bytes_total");
  DeleteSpec what = RowDelete("a", "b");
  what.cells = {clock.Now() + 1, clock.Now() + 2};
  ASSERT_TRUE(Erase("H", what));
  EXPECT_TRUE(Await([&] { return Told("pending_deletes") == 0; }));
  EXPECT_EQ(Metric("tallyd_store_merged_bytes_total"), merged);
}

TEST_F(PurgeJobTest, AFileOfWhichMuchIsHiddenIsWrittenAgainAtOnce) {
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  PutRows("H", "r", 100);
  ASSERT_TRUE(store().Settle());
  ASSERT_TRUE(Erase("H", RowDelete("r", "r10060")));
  EXPECT_TRUE(Await([&] { return Told("pending_deletes") == 0; }));
  EXPECT_EQ(Read("H").size(), 40u);
}

TEST_F(PurgeJobTest, TooManyDeletesAreNotKeptForTheDeadline) {
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  PutRows("H", "r", 5000);
  ASSERT_TRUE(store().Settle());
  for (int i = 0; i < 100; ++i) {
    const std::string row = "r" + std::to_string(10'000 + 40 * i);
    ASSERT_TRUE(Erase("H", RowDelete(row, row + "0")));
  }
  EXPECT_TRUE(Await([&] { return Told("pending_deletes") <= 64; }));
  EXPECT_EQ(Read("H").size(), 4900u);
}

class DamageJobTest : public SealerFixture {
 protected:
  // Rows in one sealed file.
  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
    PutRows("H", "r", 5000);
    ASSERT_TRUE(store().Settle());
    ASSERT_EQ(BlockFiles().size(), 1u);
    file_ = BlockFiles()[0];
  }
  // A bit of the last block; twice is as before.
  void Damage() { FlipByteAt(file_, static_cast<std::streamoff>(BlockBytes() - 1)); }
  void PutBack() { Damage(); }
  size_t BlockBytes() const {
    const size_t footer = std::filesystem::file_size(file_) - BlockFileFooter::kBytes;
    std::ifstream bytes(file_, std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(footer));
    uint64_t index = 0;
    for (int i = 0; i < 8; ++i) index = index << 8 | static_cast<uint8_t>(bytes.get());
    return index;
  }
  void MeetTheDamage() {
    size_t rows = 0;
    const auto scan = store().Scan(Find("H"), ScanSpec());
    Result<bool> more = scan->Next();
    for (; more && *more; more = scan->Next()) ++rows;
    ASSERT_FALSE(more);
    EXPECT_LT(rows, 5000u);
    ASSERT_TRUE(store().Settle());
  }
  double DamagedFilesTold() { return Gauge("tallyd_damaged_files"); }
  // By its place: closed, as another LevelDB opens it.
  int NotesInBase() {
    Close();
    leveldb::DB* opened = nullptr;
    EXPECT_TRUE(leveldb::DB::Open(leveldb::Options(), config().path, &opened).ok());
    const std::unique_ptr<leveldb::DB> base(opened);
    const std::unique_ptr<leveldb::Iterator> it(base->NewIterator(leveldb::ReadOptions()));
    int notes = 0;
    for (it->Seek("\x12"); it->Valid() && it->key()[0] == 0x12; it->Next()) ++notes;
    return notes;
  }

  std::filesystem::path file_;
};

TEST_F(DamageJobTest, WhatWasMetIsToldAfterARestart) {
  Damage();
  Reopen();
  EXPECT_EQ(DamagedFilesTold(), 0) << "nobody has looked";
  MeetTheDamage();
  EXPECT_EQ(DamagedFilesTold(), 1);
  for (int start = 0; start < 2; ++start) {
    Reopen();
    EXPECT_EQ(DamagedFilesTold(), 1);
    ASSERT_TRUE(store().Settle());
    EXPECT_EQ(DamagedFilesTold(), 1);
  }
  EXPECT_EQ(NotesInBase(), 1);
}

TEST_F(DamageJobTest, AFileThatWasPutBackIsWell) {
  Damage();
  Reopen();
  MeetTheDamage();
  Close();
  PutBack();
  Reopen();
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(DamagedFilesTold(), 0);
  EXPECT_EQ(Read("H").size(), 5000u);
  EXPECT_EQ(NotesInBase(), 0);
}

TEST_F(DamageJobTest, AMissingFileIsToldByTheStartItself) {
  Close();
  const std::filesystem::path aside = file_.string() + ".aside";
  std::filesystem::rename(file_, aside);
  Reopen();
  EXPECT_EQ(DamagedFilesTold(), 1);
  ASSERT_TRUE(store().Settle());
  Close();
  std::filesystem::rename(aside, file_);
  Reopen();
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(DamagedFilesTold(), 0);
  EXPECT_EQ(Read("H").size(), 5000u);
}

TEST_F(DamageJobTest, TheNoteGoesWithTheFile) {
  Damage();
  Reopen();
  MeetTheDamage();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("G")})));
  ASSERT_TRUE(store().DropTable("H"));
  ASSERT_TRUE(Await([&] { return BlockFiles().empty(); }));
  EXPECT_EQ(DamagedFilesTold(), 0);
  Reopen();
  EXPECT_EQ(DamagedFilesTold(), 0);
  EXPECT_EQ(NotesInBase(), 0);
}

TEST(StartTest, AStartOpensNoBlockFileAndAReopenReadsNoIndex) {
  FaultEnv env;
  StoreHarness store(&env);
  store.Open();
  ASSERT_TRUE(store.Adopt(MakeSchema({MakeTable("H")})));
  for (int day = 0; day < 20; ++day) {
    ASSERT_TRUE(store.Write("H", "r", day * kUsPerDay * 40, {{"A", "x", Value::Int(day)}}));
  }
  ASSERT_TRUE(store.store().Settle());
  const uint64_t files = store.Told("block_files");
  EXPECT_GT(files, 5u);
  store.Close();
  const uint64_t before = env.block_files_opened();
  store.Reopen();
  ASSERT_TRUE(store.store().Settle());
  EXPECT_EQ(env.block_files_opened(), before);
  EXPECT_EQ(store.Read("H").size(), 1u);
  const uint64_t opened = env.block_files_opened();
  EXPECT_EQ(opened, before + files);
  env.FailAt(env.calls() + 1, Fault::kIo, false);
  EXPECT_FALSE(store.Write("H", "s", 1, {{"A", "x", Value::Int(1)}}));
  while (!store.Write("H", "t", 1, {{"A", "x", Value::Int(1)}})) std::this_thread::yield();
  EXPECT_GE(store.Read("H").size(), 2u);
  EXPECT_EQ(env.block_files_opened(), opened) << "indexes and descriptors are kept";
}

}  // namespace
}  // namespace tallyd
