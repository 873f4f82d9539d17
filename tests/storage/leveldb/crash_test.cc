// Power cuts and failing disks at every call that changes the disk: what was acknowledged is there,
// batches are whole or absent, latest values are what the history implies.
#include <gtest/gtest.h>
#include <leveldb/db.h>

#include <future>
#include <set>
#include <thread>

#include "tests/storage/call_stride.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

constexpr int kBatches = 24;
constexpr int kRowsPerBatch = 3;
constexpr int kMachines = 4;
constexpr size_t kTextBytes = 3000;

class CrashTest : public ::testing::Test {
 protected:
  // A fresh store in which the next call to the disk has number calls() + 1.
  void Start() {
    harness_.reset();
    env_ = std::make_unique<FaultEnv>();
    harness_ = std::make_unique<StoreHarness>(env_.get());
    harness_->config().write_buffer = 64u << 10;
    acknowledged_.clear();
  }

  Status OpenStore() {
    const Status opened = harness_->TryOpen();
    if (!opened) return opened;
    return harness_->Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)}));
  }

  void Reopen(const std::string& what) {
    const Status opened = OpenStore();
    ASSERT_TRUE(opened) << what << ": " << opened.error().message();
  }

  static std::string RowOf(int batch, int row) {
    return std::to_string(1000 + batch) + "#" + std::to_string(row);
  }

  std::unique_ptr<Batch> MakeBatch(int number) {
    auto batch = harness_->NewBatch();
    const std::string text(kTextBytes, static_cast<char>('a' + number));
    for (int row = 0; row < kRowsPerBatch; ++row) {
      harness_->Put(batch.get(), "H", RowOf(number, row), number,
                    {{"A", "n", Value::Int(number)}, {"A", "text", Value::String(text)}});
    }
    harness_->Put(batch.get(), "L", "m" + std::to_string(number % kMachines), number,
                  {{"A", "n", Value::Int(number)}});
    return batch;
  }

  // Several wait at a time, so that they commit in groups.
  void WriteBatches() {
    for (int first = 0; first < kBatches; first += 3) {
      std::vector<std::future<Status>> waiting;
      for (int number = first; number < first + 3; ++number) {
        auto done = std::make_shared<std::promise<Status>>();
        waiting.push_back(done->get_future());
        harness_->store().Submit(MakeBatch(number),
                                 [done](Status status) { done->set_value(std::move(status)); });
      }
      for (int i = 0; i < 3; ++i) {
        if (waiting[static_cast<size_t>(i)].get()) acknowledged_.insert(first + i);
      }
    }
  }

  int LatestRowsInBase() {
    leveldb::DB* opened = nullptr;
    EXPECT_TRUE(leveldb::DB::Open(leveldb::Options(), harness_->config().path, &opened).ok());
    const std::unique_ptr<leveldb::DB> base(opened);
    const std::unique_ptr<leveldb::Iterator> it(base->NewIterator(leveldb::ReadOptions()));
    int rows = 0;
    for (it->Seek("\x20"); it->Valid() && it->key()[0] == 0x20; it->Next()) ++rows;
    return rows;
  }

  void Check(const std::string& what) {
    SCOPED_TRACE(what);
    std::map<int, int> rows_of;
    std::map<std::string, Cells> newest;
    for (const auto& [key, cells] : harness_->Read("H")) {
      const int number = std::stoi(key) - 1000;
      ++rows_of[number];
      const std::string time = std::to_string(number);
      EXPECT_EQ(cells.at("A:text@" + time),
                std::string(kTextBytes, static_cast<char>('a' + number)));
      newest["m" + std::to_string(number % kMachines)] = {{"A:n@" + time, time}};
    }
    for (const int number : acknowledged_) EXPECT_EQ(rows_of[number], kRowsPerBatch) << number;
    for (const auto& [number, rows] : rows_of) EXPECT_EQ(rows % kRowsPerBatch, 0) << number;
    const Rows latest = harness_->Read("L");
    EXPECT_EQ((std::map<std::string, Cells>(latest.begin(), latest.end())), newest);
  }

  std::unique_ptr<FaultEnv> env_;
  std::unique_ptr<StoreHarness> harness_;
  std::set<int> acknowledged_;
};

TEST_F(CrashTest, NothingAcknowledgedIsLostInAPowerCut) {
  int cuts = 0;
  for (const Loss loss :
       {Loss::kAll, Loss::kRandomTail, Loss::kRandomSectors, Loss::kZeroedSectors}) {
    for (uint64_t call = FirstCall();; call += CallStride()) {
      Start();
      env_->CutAt(call);
      if (OpenStore()) WriteBatches();
      harness_->Close();
      if (!env_->failed()) break;
      ++cuts;
      env_->LosePower(loss, static_cast<unsigned>(call));
      ASSERT_NO_FATAL_FAILURE(Reopen("cut at call " + std::to_string(call)));
      Check("cut at call " + std::to_string(call) + ", loss " +
            std::to_string(static_cast<int>(loss)));
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(cuts, 200 / static_cast<int>(CallStride()));
}

// Acknowledged before the sync: the last of it may be lost, but batches stay whole, the latest
// values follow from the history, and what is left opens.
TEST_F(CrashTest, WithAnIntervalAPowerCutLosesOnlyTheEnd) {
  for (const Loss loss : {Loss::kAll, Loss::kRandomSectors}) {
    for (uint64_t call = FirstCall();; call += CallStride()) {
      Start();
      harness_->config().sync = Sync::kInterval;
      harness_->config().sync_interval_us = 3000;
      env_->CutAt(call);
      if (OpenStore()) WriteBatches();
      harness_->Close();
      if (!env_->failed()) break;
      env_->LosePower(loss, static_cast<unsigned>(call));
      const std::set<int> acknowledged = std::exchange(acknowledged_, {});
      ASSERT_NO_FATAL_FAILURE(Reopen("cut at call " + std::to_string(call)));
      Check("cut at call " + std::to_string(call));
      std::set<int> found;
      for (const auto& [key, cells] : harness_->Read("H")) found.insert(std::stoi(key) - 1000);
      // What is lost is an end: batches were submitted in order.
      const int last = found.empty() ? -1 : *found.rbegin();
      EXPECT_EQ(last, static_cast<int>(found.size()) - 1);
      if (HasFailure()) return;
    }
  }
}

TEST_F(CrashTest, AFaultNeverCostsWhatWasAcknowledged) {
  int faults = 0;
  for (const Fault fault : {Fault::kNoSpace, Fault::kIo}) {
    for (uint64_t call = FirstCall();; call += CallStride()) {
      Start();
      env_->FailAt(call, fault, false);
      if (!OpenStore()) {
        ASSERT_NO_FATAL_FAILURE(Reopen("without the fault"));
      }
      WriteBatches();
      if (!env_->failed()) break;
      ++faults;
      const std::string what = "fault at call " + std::to_string(call);
      // By itself it writes again.
      Status written;
      for (int i = 0; i < 500; ++i) {
        written = harness_->Commit(MakeBatch(kBatches));
        if (written) break;
        EXPECT_TRUE(written.error().code() == ErrorCode::kNoSpace ||
                    written.error().code() == ErrorCode::kUnavailable)
            << written.error().message();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      ASSERT_TRUE(written) << what;
      acknowledged_.insert(kBatches);
      Check(what + ", before the reopen");
      ASSERT_NO_FATAL_FAILURE(Reopen(what));
      Check(what + ", after the reopen");
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(faults, 50 / static_cast<int>(CallStride()));
}

// The rows of its latest tables are told of by a head, its records by base: two writes.
TEST_F(CrashTest, ADroppedTableLeavesNoLatestRows) {
  int cuts = 0;
  for (uint64_t offset = 1; offset < 40; ++offset) {
    Start();
    ASSERT_NO_FATAL_FAILURE(Reopen("at first"));
    for (int number = 0; number < kMachines; ++number) {
      ASSERT_TRUE(harness_->Commit(MakeBatch(number)));
    }
    ASSERT_TRUE(harness_->store().Settle());
    ASSERT_TRUE(harness_->Adopt(MakeSchema({MakeTable("H")})));
    env_->CutAt(env_->calls() + offset);
    const Status dropped = harness_->store().DropTable("L");
    harness_->Close();
    if (dropped && !env_->failed()) break;
    ++cuts;
    env_->LosePower(Loss::kAll, 1);
    const Status opened = harness_->TryOpen();
    ASSERT_TRUE(opened) << opened.error().message();
    const bool is_gone = harness_->Find("L") == nullptr;
    EXPECT_TRUE(is_gone || !dropped);
    EXPECT_TRUE(is_gone || harness_->Read("L").size() == kMachines) << "whole or not at all";
    ASSERT_TRUE(harness_->store().Settle());
    harness_->Close();
    EXPECT_EQ(LatestRowsInBase(), is_gone ? 0 : kMachines) << "cut at call " << offset;
  }
  EXPECT_GT(cuts, 1);
}

// What is in memory is what the files hold, but for the group that failed.
TEST_F(CrashTest, AReopenDoesNotReadLatestRowsAgain) {
  constexpr int kRows = 20'000;
  Start();
  ASSERT_NO_FATAL_FAILURE(Reopen("at first"));
  for (int row = 0; row < kRows;) {
    auto batch = harness_->NewBatch();
    for (const int end = row + 1000; row < end; ++row) {
      harness_->Put(batch.get(), "L", std::to_string(100'000 + row), row,
                    {{"A", "text", Value::String(std::string(200, 'x') + std::to_string(row))}});
    }
    ASSERT_TRUE(harness_->Commit(std::move(batch)));
  }
  ASSERT_TRUE(harness_->store().Settle());
  ASSERT_NO_FATAL_FAILURE(Reopen("sealed"));
  ASSERT_GT(env_->bytes_read(), uint64_t{kRows} * 200) << "a start reads them";
  env_->FailAt(env_->calls() + 1, Fault::kIo, false);
  const uint64_t before = env_->bytes_read();
  const auto write = [&](const std::string& row) {
    return harness_->Write("L", row, kRows, {{"A", "n", Value::Int(1)}});
  };
  EXPECT_FALSE(write("failed"));
  while (!write("later")) std::this_thread::yield();
  EXPECT_LT(env_->bytes_read() - before, 500'000u);
  const size_t rows = harness_->Read("L").size();
  EXPECT_TRUE(rows == kRows + 1 || rows == kRows + 2);
  ASSERT_NO_FATAL_FAILURE(Reopen("read anew"));
  EXPECT_EQ(harness_->Read("L").size(), rows);
}

TEST_F(CrashTest, AFullDiskRefusesWritesAndKeepsReading) {
  Start();
  ASSERT_NO_FATAL_FAILURE(Reopen("at first"));
  WriteBatches();
  ASSERT_EQ(acknowledged_.size(), size_t{kBatches});
  env_->FailAt(env_->calls() + 1, Fault::kNoSpace, true);
  const Status refused = harness_->Commit(MakeBatch(kBatches));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNoSpace);
  EXPECT_FALSE(harness_->store().State().writable);
  env_->Heal();
  const auto healed = std::chrono::steady_clock::now();
  while (!harness_->Commit(MakeBatch(kBatches))) {
    ASSERT_LT(std::chrono::steady_clock::now() - healed, std::chrono::seconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  acknowledged_.insert(kBatches);
  Check("after the disk had room again");
}

}  // namespace
}  // namespace tallyd
