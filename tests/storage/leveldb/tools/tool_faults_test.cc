// Each kind of call of the file system that a tool makes fails once, in either sense: nothing was
// done, or it was done and then said to have failed. No tool then says yes where it should say no,
// writes into what was there, or takes away what could be restored.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "storage/leveldb/env/overlay_env.h"
#include "storage/leveldb/tools/backup.h"
#include "storage/leveldb/tools/restore.h"
#include "storage/leveldb/tools/salvage.h"
#include "storage/leveldb/tools/verify.h"
#include "tests/storage/call_stride.h"
#include "tests/storage/fault_calls.h"
#include "tests/storage/leveldb/tools/small_store.h"

namespace tallyd {
namespace {

class ToolFaultsTest : public ::testing::Test, public SmallStore {
 protected:
  using Files = std::map<std::string, std::string>;

  void SetUp() override {
    Make();
    sound_ = FilesBelow(config().path);
  }

  std::string At(const std::string& name) const { return path() + "/" + name; }
  StorageConfig ConfigAt(const std::string& name) {
    StorageConfig other = config();
    other.path = At(name);
    return other;
  }

  // `run` once as it is, and then with each of the calls that it made failing; done and failed only
  // where that may leave a trace. `check` is told whether any did, in which way.
  void ForEachFault(const std::function<void()>& prepare, const std::function<void()>& run,
                    const std::function<void(const std::string&)>& check) {
    static const std::set<std::string> kTraceless{"read", "readdir", "stat", "statvfs"};
    std::vector<CallFault> faults;
    prepare();
    {
      FaultCalls calls(path());
      run();
      faults = KindsOf(calls.TakeCalls());
    }
    check("nothing failed");
    ASSERT_GT(faults.size(), 10u);
    for (const FaultSense sense : {FaultSense::kUndone, FaultSense::kDone}) {
      for (uint64_t i = FirstCall() - 1; i < faults.size(); i += CallStride()) {
        CallFault fault = faults[i];
        if (sense == FaultSense::kDone && kTraceless.contains(fault.call)) continue;
        prepare();
        fault.sense = sense;
        {
          FaultCalls calls(path());
          calls.Fail(fault);
          run();
        }
        check(fmt::format("{} of {}, {}", fault.call, fault.path,
                          sense == FaultSense::kDone ? "done" : "undone"));
        if (HasFailure()) return;
      }
    }
  }

  // As the command does it, of a store that no daemon has open.
  Result<BackupReport> BackUpTo(const std::string& to) {
    DurableEnv durable({[](double) {}, [] {}});
    OverlayEnv env(&durable);
    Result<std::unique_ptr<OpenedStore>> store = OpenedStore::Open(config(), &env);
    if (!store) return store.error();
    ToolProgress progress;
    return BackUp(&(*store)->database(), {to, 0, 0, &progress});
  }

  // What a sound backup holds; nothing where it is not sound.
  std::optional<Rows> HistoryIn(const std::string& from) {
    std::filesystem::remove_all(At("restored"));
    ToolProgress progress;
    const StorageConfig target = ConfigAt("restored");
    const Result<RestoreReport> report = RestoreBackup({from, target, false, &progress});
    if (!report || !report->sound()) return std::nullopt;
    return HistoryAt("restored");
  }
  Rows HistoryAt(const std::string& name) {
    StoreHarness store;
    store.config() = ConfigAt(name);
    const Status opened = store.TryOpen();
    EXPECT_TRUE(opened) << opened.error().message();
    if (!opened || !store.Adopt(SchemaOf())) return {};
    return store.Read("H");
  }

  Files sound_;
};

TEST_F(ToolFaultsTest, VerifyNeverCallsADamagedStoreSound) {
  Files damaged = sound_;
  for (auto& [name, bytes] : damaged) {
    if (!name.ends_with(".blocks")) continue;
    bytes[20] ^= 1;
    break;
  }
  WriteFiles(damaged, config().path);
  std::optional<Result<VerifyReport>> report;
  ForEachFault([] {},
               [&] {
                 VerifyOptions options;
                 options.storage = config();
                 report = VerifyStore(options);
               },
               [&](const std::string& fault) {
                 EXPECT_FALSE(*report && (*report)->sound()) << fault;
                 EXPECT_EQ(FilesBelow(config().path), damaged) << fault;
               });
}

TEST_F(ToolFaultsTest, NoBackupCostsTheOneBefore) {
  ASSERT_TRUE(BackUpTo(At("backup")));
  const Files before = FilesBelow(At("backup"));
  Open();
  ASSERT_TRUE(Adopt(SchemaOf()));
  WriteEvent("m1", 5000, 7);
  ASSERT_TRUE(store().Settle());
  WriteEvent("m1", 5001, 8);
  const Rows later = Read("H");
  Close();
  const Files store = FilesBelow(config().path);
  std::optional<Result<BackupReport>> report;
  ForEachFault(
      [&] {
        std::filesystem::remove_all(At("backup.incomplete"));
        WriteFiles(before, At("backup"));
      },
      [&] { report = BackUpTo(At("backup")); },
      [&](const std::string& fault) {
        EXPECT_EQ(FilesBelow(config().path), store) << fault;
        const bool is_done = *report && OutcomeOf(**report);
        const std::optional<Rows> held = HistoryIn(At("backup"));
        ASSERT_TRUE(held) << fault << ": neither can be restored";
        EXPECT_TRUE(*held == later || (!is_done && *held == history)) << fault;
        const Result<BackupReport> next = BackUpTo(At("backup"));
        ASSERT_TRUE(next && OutcomeOf(*next)) << fault;
        EXPECT_EQ(HistoryIn(At("backup")), later) << fault << ": the next one";
        EXPECT_EQ(FilesBelow(config().path), store) << fault;
      });
}

TEST_F(ToolFaultsTest, ARestoreIsWholeOrRefusedAndLeavesTheBackup) {
  ASSERT_TRUE(BackUpTo(At("backup")));
  const Files backup = FilesBelow(At("backup"));
  std::optional<Result<RestoreReport>> report;
  ForEachFault([&] { std::filesystem::remove_all(At("target")); },
               [&] {
                 ToolProgress progress;
                 const StorageConfig target = ConfigAt("target");
                 report = RestoreBackup({At("backup"), target, false, &progress});
               },
               [&](const std::string& fault) {
                 EXPECT_EQ(FilesBelow(At("backup")), backup) << fault;
                 if (*report && (*report)->sound()) {
                   EXPECT_EQ(HistoryAt("target"), history) << fault;
                   return;
                 }
                 StoreHarness store;
                 store.config() = ConfigAt("target");
                 if (!std::filesystem::exists(At("target")) || !store.TryOpen()) return;
                 // It is whole for all that, or was never begun.
                 ASSERT_TRUE(store.Adopt(SchemaOf())) << fault;
                 const Rows rows = store.Read("H");
                 EXPECT_TRUE(rows == history || rows.empty()) << fault;
               });
}

TEST_F(ToolFaultsTest, ASalvageSaysWhatItLacksAndLeavesTheStore) {
  std::optional<Result<SalvageReport>> report;
  ForEachFault([&] { std::filesystem::remove_all(At("salvaged")); },
               [&] {
                 ToolProgress progress;
                 report = Salvage({config(), At("salvaged"), &progress});
               },
               [&](const std::string& fault) {
                 EXPECT_EQ(FilesBelow(config().path), sound_) << fault;
                 if (!*report || !(*report)->whole()) return;
                 EXPECT_EQ(HistoryAt("salvaged"), history) << fault;
               });
}

}  // namespace
}  // namespace tallyd
