// Calls of the system that fail while the sealer works: nothing is taken for damage, nobody waits
// for ever, and what could not be done is told, and done later.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "tests/storage/fault_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class FailedCallsTest : public ::testing::Test, public StoreHarness {
 protected:
  FailedCallsTest() : StoreHarness(&env_) {}
  void TearDown() override { Close(); }  // The store uses the env, which goes first.

  void PutRows(const std::string& prefix, int rows = 50) {
    auto batch = NewBatch();
    for (int i = 0; i < rows; ++i) {
      Put(batch.get(), "H", prefix + std::to_string(i), 1000, {{"A", "x", Value::Int(i)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  // An error if it does not come back.
  Status SettleInTime() {
    auto settled = std::async(std::launch::async, [this] { return store().Settle(); });
    if (settled.wait_for(std::chrono::seconds(60)) == std::future_status::ready) {
      return settled.get();
    }
    ADD_FAILURE() << "it hangs";
    Close();
    return settled.get();
  }
  template <class Condition>
  static bool Await(Condition condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // Two files of one window, which a Settle merges.
  void MakeTwoFiles() {
    config().seal_delay_us = 1000;
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
    for (const char* prefix : {"a", "b"}) {
      const double heads = Metric("tallyd_store_sealed_heads_total");
      PutRows(prefix);
      ASSERT_TRUE(Await([&] { return Metric("tallyd_store_sealed_heads_total") > heads; }));
    }
    ASSERT_EQ(Told("block_files"), 2u);
  }

  FaultEnv env_;
};

TEST_F(FailedCallsTest, AReadThatFailedIsToldByTheSettlingAndDoneByTheNext) {
  ASSERT_NO_FATAL_FAILURE(MakeTwoFiles());
  env_.FailReads(true);
  const Status settled = SettleInTime();
  ASSERT_FALSE(settled) << "the files were not merged";
  EXPECT_EQ(settled.error().code(), ErrorCode::kIo);
  EXPECT_NE(settled.error().message().find(".blocks"), std::string::npos)
      << settled.error().message();
  EXPECT_EQ(Gauge("tallyd_damaged_files"), 0) << "nothing is known of its bytes";
  env_.FailReads(false);
  ASSERT_TRUE(SettleInTime());
  EXPECT_EQ(Told("block_files"), 1u);
  EXPECT_EQ(Read("H").size(), 100u);
}

TEST_F(FailedCallsTest, ADeleteIsPurgedOnceTheFileCanBeReadAgain) {
  ASSERT_NO_FATAL_FAILURE(MakeTwoFiles());
  env_.FailReads(true);
  ASSERT_TRUE(Erase("H", RowDelete("a", "b")));
  const Status settled = SettleInTime();
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().code(), ErrorCode::kIo);
  env_.FailReads(false);
  EXPECT_TRUE(Await([&] { return Told("pending_deletes") == 0; })) << "without being asked";
  EXPECT_EQ(Read("H").size(), 50u);
  EXPECT_EQ(Gauge("tallyd_damaged_files"), 0);
}

TEST_F(FailedCallsTest, AQueryThatCouldNotReadLeavesTheFileWell) {
  ASSERT_NO_FATAL_FAILURE(MakeTwoFiles());
  Reopen();
  env_.FailReads(true);
  EXPECT_FALSE(TryRead("H"));
  env_.FailReads(false);
  EXPECT_EQ(Read("H").size(), 100u);
  EXPECT_EQ(Gauge("tallyd_damaged_files"), 0);
  ASSERT_TRUE(SettleInTime());
  EXPECT_EQ(Told("block_files"), 1u);
}

// Of the calls that close a head, make the next one, write files, record them, drop the head.
TEST_F(FailedCallsTest, WhicheverCallFailsSettlingEndsAndTheStoreTakesWritesAgain) {
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  int failed = 0;
  size_t rows = 0;
  for (uint64_t call = 1; call <= 24; ++call) {
    SCOPED_TRACE(call);
    const std::string prefix(1, static_cast<char>('a' + call));
    ASSERT_NO_FATAL_FAILURE(PutRows(prefix, 5));
    rows += 5;
    env_.FailAt(env_.calls() + call, Fault::kIo, false);
    const Status settled = SettleInTime();
    if (!settled) {
      ++failed;
      const ErrorCode code = settled.error().code();
      EXPECT_TRUE(code == ErrorCode::kIo || code == ErrorCode::kUnavailable)
          << settled.error().message();
    }
    env_.Heal();
    EXPECT_TRUE(Await([&] { return store().State().writable; })) << store().State().reason;
    EXPECT_TRUE(Await([&] { return SettleInTime().has_value(); }));
    EXPECT_EQ(Read("H").size(), rows);
  }
  EXPECT_GT(failed, 3);
  Reopen();
  EXPECT_EQ(Read("H").size(), rows);
}

}  // namespace
}  // namespace tallyd
