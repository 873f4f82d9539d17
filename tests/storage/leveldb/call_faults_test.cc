// Each kind of call that a store makes of the system fails once, below the Env, in both senses:
// undone, and done. Nothing acknowledged is lost, now or at a later start; writing goes on by
// itself; and what could not be read is never taken for absent.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "tests/storage/call_stride.h"
#include "tests/storage/fault_calls.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

class CallFaultsTest : public ::testing::Test {
 protected:
  // An empty directory, and what the store is to be.
  void Start() {
    harness_.reset();
    harness_ = std::make_unique<StoreHarness>();
    harness_->config().write_buffer = 4096;
    harness_->config().seal_delay_us = 1000;
    calls_.reset();
    calls_ = std::make_unique<FaultCalls>(harness_->path());
    acknowledged_.clear();
    next_row_ = 1000;
  }

  Status Open() {
    const Status opened = harness_->TryOpen();
    if (!opened) return opened;
    return harness_->Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)}));
  }

  bool Write() {
    const std::string row = std::to_string(next_row_++);
    auto batch = harness_->NewBatch();
    for (const char* table : {"H", "L"}) {
      harness_->Put(batch.get(), table, row, 1, {{"A", "x", Value::String(std::string(500, 'x'))}});
    }
    const bool stored = harness_->Commit(std::move(batch)).has_value();
    if (stored) acknowledged_.insert(row);
    return stored;
  }

  // Heads become full, are followed by others, and are sealed.
  void Serve() {
    for (int i = 0; i < 30; ++i) Write();
    Await(std::chrono::milliseconds(40),
          [&] { return harness_->store().State().unsealed_bytes == 0; });
    for (int i = 0; i < 3; ++i) Write();
  }

  template <class Condition>
  static bool Await(std::chrono::milliseconds patience, Condition condition) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  void Check(const std::string& what) {
    for (const char* const when : {"the next start", "the one after it"}) {
      SCOPED_TRACE(what + ", " + when);
      const Status opened = Open();
      ASSERT_TRUE(opened) << opened.error().message();
      for (const char* const table : {"H", "L"}) {
        std::set<std::string> rows;
        for (const auto& [key, cells] : harness_->Read(table)) rows.insert(key);
        for (const std::string& row : acknowledged_) EXPECT_TRUE(rows.contains(row)) << row;
      }
      harness_->Close();
    }
  }

  static std::string NameOf(const CallFault& fault) {
    const char* const sense = fault.sense == FaultSense::kDone ? " done, " : " undone, ";
    return fault.call + " " + fault.path + sense + std::to_string(fault.error);
  }

  // Each kind of call of those: undone; done, where that leaves a trace; and, of an open, for want
  // of descriptors.
  static std::vector<CallFault> FaultsOf(const std::vector<MadeCall>& made) {
    static const std::set<std::string> kTraceless{"open", "read", "readdir", "stat", "statvfs"};
    std::vector<CallFault> faults;
    for (const CallFault& kind : KindsOf(made)) {
      faults.push_back(kind);
      if (kind.call == "open") {
        faults.push_back(kind);
        faults.back().error = EMFILE;
      }
      if (kTraceless.contains(kind.call)) continue;
      faults.push_back(kind);
      faults.back().sense = FaultSense::kDone;
    }
    std::vector<CallFault> tried;
    for (uint64_t i = FirstCall() - 1; i < faults.size(); i += CallStride()) {
      tried.push_back(faults[i]);
    }
    return tried;
  }

  std::unique_ptr<StoreHarness> harness_;
  std::unique_ptr<FaultCalls> calls_;
  std::set<std::string> acknowledged_;
  int next_row_ = 0;
};

TEST_F(CallFaultsTest, NoCallOfTheFirstStartLeavesAStoreThatCannotBeOpened) {
  Start();
  ASSERT_TRUE(Open());
  harness_->Close();
  for (const CallFault& fault : FaultsOf(calls_->TakeCalls())) {
    Start();
    calls_->Fail(fault);
    if (Open()) Write();
    harness_->Close();
    calls_->Heal();
    ASSERT_NO_FATAL_FAILURE(Check(NameOf(fault)));
  }
}

TEST_F(CallFaultsTest, NoCallWhileServingLosesWhatWasAcknowledged) {
  Start();
  ASSERT_TRUE(Open());
  calls_->TakeCalls();
  Serve();
  size_t failed = 0;
  const std::vector<CallFault> faults = FaultsOf(calls_->TakeCalls());
  for (const CallFault& fault : faults) {
    SCOPED_TRACE(NameOf(fault));
    Start();
    ASSERT_TRUE(Open());
    calls_->Fail(fault);
    Serve();
    failed += calls_->failed() ? 1 : 0;
    calls_->Heal();
    EXPECT_TRUE(Await(std::chrono::seconds(10), [&] { return Write(); })) << "without a restart";
    EXPECT_TRUE(Await(std::chrono::seconds(10), [&] {
      return harness_->store().State().unsealed_bytes == 0;
    })) << "sealing goes on";
    harness_->Close();
    ASSERT_NO_FATAL_FAILURE(Check(NameOf(fault)));
  }
  EXPECT_GT(failed, faults.size() / (CallStride() == 1 ? 2 : 8));
}

TEST_F(CallFaultsTest, NoCallOfAStartLosesWhatWasAcknowledged) {
  Start();
  harness_->config().seal_delay_us = kUsPerDay;
  ASSERT_TRUE(Open());
  for (int i = 0; i < 8; ++i) Write();
  ASSERT_TRUE(harness_->store().Settle());
  for (int i = 0; i < 3; ++i) Write();
  harness_->Close();
  const std::string store = harness_->config().path;
  const std::string sound = harness_->path() + "/sound";
  fs::copy(store, sound, fs::copy_options::recursive);
  calls_->TakeCalls();
  ASSERT_TRUE(Open());
  harness_->Close();
  for (const CallFault& fault : FaultsOf(calls_->TakeCalls())) {
    fs::remove_all(store);
    fs::copy(sound, store, fs::copy_options::recursive);
    calls_->Fail(fault);
    const std::set<std::string> before = acknowledged_;
    if (Open()) Write();
    harness_->Close();
    calls_->Heal();
    ASSERT_NO_FATAL_FAILURE(Check(NameOf(fault)));
    acknowledged_ = before;
  }
}

// LevelDB takes a log for ended where a read gives less than was asked for.
TEST_F(CallFaultsTest, AFileSystemThatMovesLittleAtATimeLosesNothing) {
  Start();
  calls_->LimitTransfers(1000);
  ASSERT_TRUE(Open());
  Serve();
  harness_->Close();
  Check("short transfers");
}

TEST_F(CallFaultsTest, AStartOnAFullDiskServesReadsAndRefusesWritesUntilThereIsRoom) {
  Start();
  std::atomic<uint64_t> free = 1u << 30;
  harness_->measure = [&](const std::string&) { return VolumeSpace{1u << 30, free}; };
  harness_->config().free_space_floor = 1u << 20;
  ASSERT_TRUE(Open());
  for (int i = 0; i < 20; ++i) Write();
  harness_->Close();
  free = 0;
  calls_->Fail({.call = "write", .error = ENOSPC, .until_healed = true});
  ASSERT_TRUE(Open());
  EXPECT_TRUE(calls_->failed());
  EXPECT_EQ(harness_->Read("H").size(), acknowledged_.size());
  EXPECT_EQ(harness_->Read("L").size(), acknowledged_.size());
  EXPECT_FALSE(Write());
  EXPECT_EQ(harness_->Erase("H", RowDelete("1000", "1001")).error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(harness_->Read("H").size(), acknowledged_.size());
  EXPECT_FALSE(harness_->store().State().writable);
  calls_->Heal();
  free = 1u << 30;
  EXPECT_TRUE(Await(std::chrono::seconds(10), [&] { return Write(); })) << "without a restart";
  harness_->Close();
  Check("a full disk");
}

}  // namespace
}  // namespace tallyd
