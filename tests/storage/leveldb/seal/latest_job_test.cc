#include "storage/leveldb/seal/latest_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "storage/leveldb/catalogue/keyed_records.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/commit/engine_state.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/read/table_scan.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

// An engine that tells how many latest rows a commit took out at most.
class CountingEngine final : public CommitTarget {
 public:
  CountingEngine(Engine* engine) : engine_(engine) {}
  Status Admit() override { return engine_->Admit(); }
  Status Admit(const Batch& batch) override { return engine_->Admit(batch); }
  Status Check(const Batch& batch) override { return engine_->Check(batch); }
  size_t BytesOf(const Batch& batch) const override { return engine_->BytesOf(batch); }
  Status Commit(std::span<Batch* const> group, bool sync) override {
    const uint64_t before = engine_->state().latest.RowsOf(1);
    Status committed = engine_->Commit(group, sync);
    const uint64_t after = engine_->state().latest.RowsOf(1);
    if (before > after) most_ = std::max<uint64_t>(most_, before - after);
    ++commits_;
    return committed;
  }
  size_t CommittedBytes() const override { return engine_->CommittedBytes(); }
  Status Recover() override { return engine_->Recover(); }

  uint64_t TakeMost() { return most_.exchange(0); }
  uint64_t commits() const { return commits_; }

 private:
  Engine* const engine_;
  std::atomic<uint64_t> most_ = 0;
  std::atomic<uint64_t> commits_ = 0;
};

class LatestJobTest : public ::testing::Test {
 protected:
  uint64_t write_buffer_ = 64u << 20;  // Before Start.

  void Start(Table table, uint64_t rows_at_once = 2000) {
    LevelDbStoreOptions options;
    options.storage.path = dir_.path() + "/db";
    options.storage.write_buffer = write_buffer_;
    options.storage.ballast = 0;
    options.storage.free_space_floor = 0;
    options.clock = &clock_;
    options.registry = &registry_;
    options.rows_at_once = rows_at_once;
    std::filesystem::create_directories(options.storage.path);
    engine_ = std::make_unique<Engine>(options, &metrics_);
    ASSERT_TRUE(engine_->Open());
    counting_ = std::make_unique<CountingEngine>(engine_.get());
    committer_ = std::make_unique<GroupCommitter>(options.storage, counting_.get(), &metrics_);
    config_ = options.storage;
    context_ = std::make_unique<SealContext>(
        SealContext::Parts{&config_, &clock_, &retention_, engine_.get(), committer_.get(),
                           &metrics_, &pacer_, [] { return false; }});
    job_ = std::make_unique<LatestJob>(context_.get());
    retention_.Start({});
    Adopt(MakeSchema({std::move(table)}));
  }

  void Stop() {
    job_.reset();
    context_.reset();
    committer_.reset();
    counting_.reset();
    engine_.reset();
  }

  void Adopt(const Schema& schema) {
    EnginePast past(&engine_->database(), &engine_->state(), 0);
    Result<Catalogue::Plan> plan = engine_->state().catalogue.PlanAdopt(schema, &past);
    ASSERT_TRUE(plan);
    auto batch = NewBatch();
    for (const auto& [key, value] : KeyedRecords(plan->put)) batch->PutRecord(key, value);
    ASSERT_TRUE(committer_->Commit(std::move(batch)));
    engine_->state().catalogue.Publish(std::move(*plan));
    table_ = engine_->state().catalogue.Find("L");
  }

  std::unique_ptr<LevelDbBatch> NewBatch() {
    return std::make_unique<LevelDbBatch>(engine_->state().fields);
  }

  void DropTable() {
    Adopt(MakeSchema({}));
    Result<Catalogue::Plan> plan = engine_->state().catalogue.PlanDrop("L");
    ASSERT_TRUE(plan);
    engine_->state().catalogue.Publish(std::move(*plan));
  }

  // Time passes.
  void SetClock(TimeUs now) { clock_.Pass(now - clock_.now); }

  static std::string KeyOf(int number) { return fmt::format("m{:06}", number); }

  void Put(Batch* batch, const std::string& row, TimeUs time, const std::string& family = "A") {
    const ColumnRef column{*table_->FindFamily(family), "x"};
    const Value values[] = {Value::Int(1)};
    batch->Put(*table_, row, time, {&column, 1}, values);
  }

  void WriteRows(int begin, int end, TimeUs time = 5) {
    for (int number = begin; number < end;) {
      auto batch = NewBatch();
      for (const int next = std::min(end, number + 5000); number < next; ++number) {
        Put(batch.get(), KeyOf(number), time);
      }
      ASSERT_TRUE(committer_->Commit(std::move(batch)));
    }
  }

  void Delete(const KeyRange& rows) {
    auto batch = NewBatch();
    DeleteSpec what;
    what.rows = rows;
    batch->Delete(*table_, what);
    ASSERT_TRUE(committer_->Commit(std::move(batch)));
  }

  // A row that is there: that it is of one family does not matter.
  std::unique_ptr<LatestScan> NewScan() {
    EngineState& state = engine_->state();
    return std::make_unique<LatestScan>(table_, ScanSpec{}, state.sets, state.latest,
                                        state.latest_deletes.Of(table_->id));
  }
  static uint64_t Count(LatestScan* scan) {
    uint64_t rows = 0;
    while (*scan->Next()) ++rows;
    return rows;
  }
  uint64_t VisibleRows() { return Count(NewScan().get()); }
  uint64_t RowsInMemory() { return engine_->state().latest.RowsOf(table_->id); }

  uint64_t RowsInBase(TableId table) {
    const auto it = Database::NewIterator(engine_->database().base());
    uint64_t rows = 0;
    for (it->Seek(TablePrefix(KeySpace::kLatest, table));
         it->Valid() && ToView(it->key()) < TableEnd(KeySpace::kLatest, table); it->Next()) {
      ++rows;
    }
    return rows;
  }

  static uint64_t ResidentBytes() {
    uint64_t pages = 0;
    uint64_t resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  }

  // False: there was nothing to do.
  bool Step() {
    const Result<Progress> worked = job_->Work(engine_->database().view());
    EXPECT_TRUE(worked) << worked.error().message();
    return worked && *worked == Progress::kSome;
  }
  void Sweep() {
    while (Step()) {
    }
  }
  // A settling does not put anything off. Whether there was anything to do.
  bool Settle() {
    context_->settle.active = true;
    ++context_->settle.number;
    const bool did = Step();
    Sweep();
    context_->settle.active = false;
    return did;
  }

  TempDir dir_;
  ManualClock clock_;
  prometheus::Registry registry_;
  StoreMetrics metrics_{registry_};
  Pacer pacer_{1, [] { return true; }};
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<CountingEngine> counting_;
  std::unique_ptr<GroupCommitter> committer_;
  StorageConfig config_;
  RetentionClock retention_{clock_};
  std::unique_ptr<SealContext> context_;
  std::unique_ptr<LatestJob> job_;
  TablePtr table_;
};

TEST_F(LatestJobTest, ADeleteOfManyRowsIsSmallCommitsAndOneForReaders) {
  constexpr int kRows = 100'000;
  Start(MakeTable("L", Pattern::kLatest));
  WriteRows(0, kRows);
  Delete({});
  EXPECT_EQ(counting_->TakeMost(), 0u) << "the delete itself takes none out";
  EXPECT_EQ(VisibleRows(), 0u);
  int written = 0;
  for (int step = 0; Step(); ++step) {
    ASSERT_LE(counting_->TakeMost(), 2000u);
    if (step % 10 == 0) {  // Another client writes: rows that are still there, and others.
      WriteRows(kRows - 1 - written, kRows - written, 3);
      ++written;
    }
    if (step % 10 != 5) continue;
    ASSERT_EQ(VisibleRows(), static_cast<uint64_t>(written));
  }
  EXPECT_GT(written, 3);
  EXPECT_EQ(RowsInMemory(), static_cast<uint64_t>(written));
  EXPECT_FALSE(engine_->state().latest_deletes.any());
}

TEST_F(LatestJobTest, AReaderFromBeforeADeleteSeesNothingOfIt) {
  Start(MakeTable("L", Pattern::kLatest), 3);
  WriteRows(0, 2000);
  auto before = NewScan();
  ASSERT_TRUE(*before->Next());
  Delete({});
  Sweep();
  EXPECT_EQ(RowsInMemory(), 2000u) << "it is waited for";
  EXPECT_EQ(VisibleRows(), 0u);
  EXPECT_EQ(Count(before.get()), 1999u);
  before.reset();
  Settle();
  EXPECT_EQ(RowsInMemory(), 0u);
}

TEST_F(LatestJobTest, OnlyWhatADeleteCoversGoes) {
  Start(MakeTable("L", Pattern::kLatest), 3);
  WriteRows(0, 100);
  Delete({KeyOf(10), KeyOf(60)});
  WriteRows(30, 40, 1);
  Sweep();
  EXPECT_EQ(RowsInMemory(), 60u);
  EXPECT_EQ(VisibleRows(), 60u);
}

TEST_F(LatestJobTest, RowsPastTheirAgeGoAndNothingIsLookedAtBefore) {
  Table table = MakeTable("L", Pattern::kLatest);
  table.families[0].max_age_us = 1000;
  table.families[1].max_age_us = 1000;
  Start(table, 3);
  SetClock(10'000);
  WriteRows(0, 10, 9'500);
  WriteRows(10, 20, 9'900);
  Settle();
  EXPECT_EQ(RowsInMemory(), 20u);
  SetClock(10'500);
  EXPECT_FALSE(Settle()) << "a cell of that age is not past it";
  SetClock(10'501);
  Settle();
  EXPECT_EQ(RowsInMemory(), 10u);
  EXPECT_FALSE(Settle()) << "the next is known";
  WriteRows(20, 21, 9'600);
  SetClock(10'601);
  Settle();
  EXPECT_EQ(RowsInMemory(), 10u) << "what came late is known, too";
  SetClock(20'000);
  Settle();
  EXPECT_EQ(RowsInMemory(), 0u);
}

// A head that is not sealed has the row: base alone cannot tell that it went.
TEST_F(LatestJobTest, WhatWasDeletedPastItsAgeIsNotThereWhenTheAgeIsRaised) {
  Table table = MakeTable("L", Pattern::kLatest);
  table.families[0].max_age_us = 1000;
  table.families[1].max_age_us = 1000;
  Start(table, 3);
  SetClock(10'000);
  WriteRows(0, 10, 9'500);
  SetClock(10'501);
  Settle();
  ASSERT_EQ(RowsInMemory(), 0u);
  Delete({});
  Stop();
  for (Family& family : table.families) family.max_age_us.reset();
  Start(table, 3);
  EXPECT_EQ(RowsInMemory(), 0u);
  EXPECT_EQ(VisibleRows(), 0u);
}

TEST_F(LatestJobTest, CellsGoByTheirOwnFamilysAge) {
  Table table = MakeTable("L", Pattern::kLatest);
  table.families[0].max_age_us = 1000;
  Start(table);
  SetClock(10'000);
  auto batch = NewBatch();
  Put(batch.get(), "a", 9'500, "A");
  Put(batch.get(), "a", 9'500, "B");
  Put(batch.get(), "b", 9'500, "B");
  ASSERT_TRUE(committer_->Commit(std::move(batch)));
  Settle();
  const size_t whole = engine_->state().latest.Get(table_->id, "a").size();
  SetClock(20'000);
  Settle();
  EXPECT_EQ(RowsInMemory(), 2u);
  EXPECT_LT(engine_->state().latest.Get(table_->id, "a").size(), whole);
  EXPECT_FALSE(Settle()) << "what stays has no age";
}

TEST_F(LatestJobTest, ByAgeAndVersionsNothingGoes) {
  Table table = MakeTable("L", Pattern::kLatest);
  for (Family& family : table.families) {
    family.max_age_us = 1000;
    family.max_versions = 1;
    family.expire_by_both = true;
  }
  Start(table);
  SetClock(10'000);
  WriteRows(0, 3, 9'500);
  SetClock(20'000);
  EXPECT_FALSE(Settle());
  EXPECT_EQ(RowsInMemory(), 3u);
}

// Else an older event could come and show what the newer one replaced.
TEST_F(LatestJobTest, ARowOfTheNewestEventStaysForTheLongestAge) {
  Table table = MakeTable("L", Pattern::kLatest, true);
  table.families[0].max_age_us = 1000;
  table.families[1].max_age_us = 5000;
  Start(table);
  SetClock(10'000);
  WriteRows(0, 3, 9'500);
  SetClock(12'000);
  Settle();
  EXPECT_EQ(RowsInMemory(), 3u);
  SetClock(14'501);
  Settle();
  EXPECT_EQ(RowsInMemory(), 0u);
}

TEST_F(LatestJobTest, AnotherAgeInTheConfigurationCounts) {
  Table table = MakeTable("L", Pattern::kLatest);
  Start(table);
  SetClock(10'000);
  WriteRows(0, 3, 9'500);
  Settle();
  for (Family& family : table.families) family.max_age_us = 100;
  Adopt(MakeSchema({table}));
  Settle();
  EXPECT_EQ(RowsInMemory(), 0u);
}

TEST_F(LatestJobTest, WithoutASettlingPassesForAgeAreSecondsApart) {
  Table table = MakeTable("L", Pattern::kLatest);
  for (Family& family : table.families) family.max_age_us = 1000;
  Start(table);
  SetClock(10'000);
  WriteRows(0, 3, 9'500);
  const auto start = std::chrono::steady_clock::now();
  Sweep();
  SetClock(20'000);
  while (RowsInMemory() > 0) {
    Sweep();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1500));
}

TEST_F(LatestJobTest, EachSettlingLooksAtAges) {
  Table table = MakeTable("L", Pattern::kLatest);
  for (Family& family : table.families) family.max_age_us = 1000;
  Start(table);
  SetClock(10'000);
  WriteRows(0, 3, 9'500);
  WriteRows(3, 6, 9'600);
  SetClock(10'550);
  Settle();
  EXPECT_EQ(RowsInMemory(), 3u);
  SetClock(10'650);
  Settle();
  EXPECT_EQ(RowsInMemory(), 0u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(LatestJobTest, WhatWasFreedGoesBackToTheSystem) {
  constexpr int kRows = 300'000;
  write_buffer_ = 1u << 20;  // Which holds a record of each row that goes.
  Start(MakeTable("L", Pattern::kLatest), 20'000);
  WriteRows(0, kRows);
  Delete({KeyOf(1000), ""});
  const uint64_t before = ResidentBytes();
  Sweep();
  EXPECT_EQ(RowsInMemory(), 1000u);
  // Less than the rows took without what there is beside them.
  EXPECT_LT(ResidentBytes() + kRows * 30, before);
}
#endif

// Until the delete is applied, rows may be written to later heads with what it hides.
TEST_F(LatestJobTest, ADeleteStaysOnRecordUntilWhatWasWrittenBeforeItWasAppliedIsSealed) {
  Start(MakeTable("L", Pattern::kLatest), 3);
  WriteRows(0, 100);
  Delete({});
  EngineState& state = engine_->state();
  const uint64_t deleted = state.last_sequence;
  WriteRows(200, 201);
  Settle();
  state.sealed_sequence = deleted;
  Sweep();
  EXPECT_EQ(state.latest_deletes.size(), 1u);
  state.sealed_sequence = state.last_sequence.load();
  Sweep();
  EXPECT_EQ(state.latest_deletes.size(), 0u);
}

// As a power cut leaves it that took the newest head, which was not synced, and not base.
TEST_F(LatestJobTest, ADeleteThatLostItsHeadIsFinished) {
  Start(MakeTable("L", Pattern::kLatest), 3);
  auto batch = NewBatch();
  batch->PutRecord(DeleteKey(table_->id, 5), EncodeDelete({}, 1));
  ASSERT_TRUE(committer_->Commit(std::move(batch)));
  Stop();
  Start(MakeTable("L", Pattern::kLatest), 3);
  ASSERT_EQ(engine_->state().latest_deletes.size(), 1u);
  EXPECT_GE(engine_->state().last_sequence, 5u) << "what is written now is later";
  Settle();
  EXPECT_EQ(engine_->state().latest_deletes.size(), 0u);
}

TEST_F(LatestJobTest, ADroppedTableTakesItsDeletesAlong) {
  Start(MakeTable("L", Pattern::kLatest), 3);
  WriteRows(0, 50);
  const auto reader = NewScan();
  Delete({});
  Sweep();
  EXPECT_TRUE(engine_->state().latest_deletes.any());
  DropTable();
  Settle();
  EXPECT_FALSE(engine_->state().latest_deletes.any());
  engine_->state().sealed_sequence = engine_->state().last_sequence.load();
  Settle();
  EXPECT_EQ(engine_->state().latest_deletes.size(), 0u);
}

TEST_F(LatestJobTest, ADroppedTableLeavesMemory) {
  Start(MakeTable("L", Pattern::kLatest), 3);
  WriteRows(0, 50);
  DropTable();
  Settle();
  EXPECT_EQ(RowsInMemory(), 0u);
  EXPECT_FALSE(Settle());
}

// A head may be sealed that has changes of them.
TEST_F(LatestJobTest, RowsOfADroppedTableAreNotStored) {
  Start(MakeTable("L", Pattern::kLatest));
  WriteRows(0, 2);
  const auto store = [&](int row) {
    auto batch = NewBatch();
    batch->StoreRow(table_->id, KeyOf(row));
    ASSERT_TRUE(committer_->Commit(std::move(batch)));
  };
  store(0);
  EXPECT_EQ(RowsInBase(table_->id), 1u);
  DropTable();
  store(0);
  store(1);
  EXPECT_EQ(RowsInBase(table_->id), 0u);
}

}  // namespace
}  // namespace tallyd
