// Readers, writers, deletes and reopens at once. What they must never see is checked here; that
// they do not race is checked by running this under ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/storage/fault_env.h"
#include "tests/storage/processor_time.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class ConcurrencyTest : public ::testing::Test {
 protected:
  static constexpr int kRows = 40;
  // Of what should not wait for a disk that hangs.
  static constexpr auto kPatience = std::chrono::seconds(20);

  void SetUp() override {
    harness_.config().write_buffer = 64u << 10;
    harness_.Open();
    ASSERT_TRUE(harness_.Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
  }

  // A generation replaces all rows in one batch.
  Status WriteGeneration(int generation) {
    auto batch = harness_.NewBatch();
    harness_.Delete(batch.get(), "H", RowDelete("r", "s"));
    for (int row = 0; row < kRows; ++row) {
      const std::string key = "r" + std::to_string(100 + row);
      harness_.Put(batch.get(), "H", key, 1, {{"A", "g", Value::Int(generation)}});
      harness_.Put(batch.get(), "L", key, generation, {{"A", "g", Value::Int(generation)}});
    }
    return harness_.Commit(std::move(batch));
  }

  FaultEnv env_;
  StoreHarness harness_{&env_};
};

TEST_F(ConcurrencyTest, AScanSeesOneGenerationWholeWhileDeletesArePurged) {
  ASSERT_TRUE(WriteGeneration(0));
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  std::atomic<int> reads{0};
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      int newest = 0;
      while (!stop) {
        const Rows rows = harness_.Read("H");
        ASSERT_EQ(rows.size(), size_t{kRows});
        const std::string generation = rows.front().second.at("A:g@1");
        for (const auto& [key, cells] : rows) ASSERT_EQ(cells.at("A:g@1"), generation);
        ASSERT_GE(std::stoi(generation), newest) << "what was deleted came back";
        newest = std::stoi(generation);
        ++reads;
      }
    });
  }
  for (int generation = 1; generation < 150 || reads < 50; ++generation) {
    ASSERT_TRUE(WriteGeneration(generation));
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  harness_.AwaitPurge();
  EXPECT_EQ(harness_.Read("H").size(), size_t{kRows});
}

TEST_F(ConcurrencyTest, ReadersSurviveReopens) {
  ASSERT_TRUE(WriteGeneration(0));
  std::atomic<bool> stop{false};
  std::atomic<int> good{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const auto scan = harness_.store().Scan(harness_.Find("H"), ScanSpec{});
        Result<bool> more = true;
        while (more && *more) more = scan->Next();
        if (more) {
          ++good;
        } else {
          ASSERT_EQ(more.error().code(), ErrorCode::kUnavailable) << more.error().message();
        }
        harness_.store().State();
        (void)harness_.store().Stats(harness_.Find("L"));
      }
    });
  }
  int generation = 1;
  for (int fault = 0; fault < 8; ++fault) {
    env_.FailAt(env_.calls() + 2, fault % 2 == 0 ? Fault::kIo : Fault::kNoSpace, false);
    WriteGeneration(generation).has_value();
    while (!WriteGeneration(++generation)) std::this_thread::yield();
    const int before = good;
    while (good == before) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  const Rows latest = harness_.Read("L");
  ASSERT_EQ(latest.size(), size_t{kRows});
  const std::string last = std::to_string(generation);
  for (const auto& [key, cells] : latest) EXPECT_EQ(cells.at("A:g@" + last), last);
}

TEST_F(ConcurrencyTest, ASlowReaderDoesNotHoldUpAReopen) {
  ASSERT_TRUE(WriteGeneration(0));
  harness_.AwaitPurge();
  const auto slow = harness_.store().Scan(harness_.Find("H"), ScanSpec{});
  ASSERT_TRUE(*slow->Next());
  env_.FailAt(env_.calls() + 1, Fault::kIo, false);
  EXPECT_FALSE(WriteGeneration(1));
  while (!WriteGeneration(2)) std::this_thread::yield();
  const Result<bool> more = slow->Next();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), ErrorCode::kUnavailable);
}

// Whoever waits has one of few threads.
TEST_F(ConcurrencyTest, ASettlingEndsWhereFilesCannotBeOpened) {
  ASSERT_TRUE(WriteGeneration(0));
  env_.FailAt(env_.calls() + 1, Fault::kIo, true);
  EXPECT_FALSE(WriteGeneration(1));
  while (harness_.store().Scan(harness_.Find("H"), ScanSpec{})->Next()) std::this_thread::yield();
  const Status settled = harness_.store().Settle();
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().code(), ErrorCode::kUnavailable);
  env_.Heal();
  while (!WriteGeneration(2)) std::this_thread::yield();
  EXPECT_TRUE(harness_.store().Settle());
}

// Bounded in processor time, not in time: other processes do not count.
TEST_F(ConcurrencyTest, WhileFilesCannotBeOpenedNobodySpins) {
  ASSERT_TRUE(WriteGeneration(0));
  env_.FailAt(env_.calls() + 1, Fault::kIo, true);
  EXPECT_FALSE(WriteGeneration(1));
  while (harness_.store().Scan(harness_.Find("H"), ScanSpec{})->Next()) std::this_thread::yield();
  // What was to be looked at next, within a second, lies in the past then.
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  const auto before = SpentMicroseconds();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LT(SpentMicroseconds() - before, 300'000) << "microseconds";
  env_.Heal();
  while (!WriteGeneration(2)) std::this_thread::yield();
}

// A disk that no longer answers holds up the commit that waits for it, and nobody else.
TEST_F(ConcurrencyTest, ACommitWithDeletesThatHangsHoldsNoScan) {
  ASSERT_TRUE(WriteGeneration(0));
  env_.Hold(Hang::kSyncs);
  auto commit = std::async(std::launch::async, [&] { return WriteGeneration(1); });
  while (env_.hanging() == 0) std::this_thread::yield();
  auto scan = std::async(std::launch::async, [&] { return harness_.Read("H"); });
  EXPECT_EQ(scan.wait_for(kPatience), std::future_status::ready);
  env_.LetGo();
  for (const auto& [key, cells] : scan.get()) EXPECT_EQ(cells.at("A:g@1"), "0") << key;
  ASSERT_TRUE(commit.get());
  for (const auto& [key, cells] : harness_.Read("H")) EXPECT_EQ(cells.at("A:g@1"), "1") << key;
}

// To close and unlink files is the sealer's work, also where a reader was the last to hold them.
TEST_F(ConcurrencyTest, AReaderThatLetsGoOfFilesDoesNotRemoveThem) {
  ASSERT_TRUE(WriteGeneration(0));
  auto scan = harness_.store().Scan(harness_.Find("H"), ScanSpec{});
  ASSERT_TRUE(*scan->Next());
  ASSERT_TRUE(harness_.store().Settle());  // The scan alone has the head now.
  env_.Hold(Hang::kRemovals);
  auto gone = std::async(std::launch::async, [&] { scan.reset(); });
  EXPECT_EQ(gone.wait_for(kPatience), std::future_status::ready);
  while (env_.hanging() == 0) std::this_thread::yield();
  EXPECT_EQ(harness_.Read("H").size(), size_t{kRows});
  env_.LetGo();
}

// A head is closed, and its latest rows and deletes are taken from memory, between any two commits.
TEST_F(ConcurrencyTest, WhatIsSealedHoldsTheLastCommitOfItsHead) {
  std::string newest;
  for (int round = 0; round < 5; ++round) {
    std::atomic<bool> done = false;
    std::thread settler([&] {
      while (!done) EXPECT_TRUE(harness_.store().Settle());
    });
    for (int i = 0; i < 300; ++i) {
      newest = std::to_string(round * 1000 + i);
      ASSERT_TRUE(harness_.Write("L", "m", round * 1000 + i, {{"A", "n", Value::String(newest)}}));
      if (i % 10 == 5) {
        ASSERT_TRUE(harness_.Erase("H", RowDelete("a", "b")));
      } else {
        ASSERT_TRUE(harness_.Write("H", "a" + newest, i, {{"A", "n", Value::Int(i)}}));
      }
    }
    ASSERT_TRUE(harness_.Erase("H", RowDelete("a", "b")));
    done = true;
    settler.join();
    EXPECT_EQ(harness_.Read("H"), Rows());
    harness_.Reopen();
    EXPECT_EQ(harness_.Read("H"), Rows());
    const Rows latest = harness_.Read("L");
    ASSERT_EQ(latest.size(), 1u);
    EXPECT_EQ(latest[0].second.begin()->second, newest);
  }
}

TEST_F(ConcurrencyTest, SettlingDoesNotWaitForWhatComesMeanwhile) {
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; !done; ++i) {
      EXPECT_TRUE(harness_.Write("H", "r" + std::to_string(i % 50), i,
                                 {{"A", "x", Value::String(std::string(2000, 'x'))}}));
    }
  });
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(harness_.store().Settle());
  done = true;
  writer.join();
  EXPECT_TRUE(harness_.store().Settle());
  EXPECT_EQ(harness_.store().State().unsealed_bytes, 0u);
}

}  // namespace
}  // namespace tallyd
