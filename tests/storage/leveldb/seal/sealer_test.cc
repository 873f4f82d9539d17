// What must not hold the background work up, and what it costs.
#include "storage/leveldb/seal/sealer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/storage/leveldb/seal/sealer_fixture.h"
#include "tests/storage/processor_time.h"

namespace tallyd {
namespace {

using SealerTest = SealerFixture;

TEST_F(SealerTest, OneDamagedBlockHoldsNothingElseUp) {
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("Bad"), MakeTable("Good")})));
  PutRows("Bad", "r", 100);
  ASSERT_TRUE(store().Settle());
  ASSERT_EQ(BlockFiles().size(), 1u);
  FlipByteAt(BlockFiles()[0], 20);
  PutRows("Bad", "s", 100);
  PutRows("Good", "r", 100);
  ASSERT_TRUE(store().Settle());
  PutRows("Good", "s", 100);
  ASSERT_TRUE(Erase("Good", RowDelete("r", "s")));
  ASSERT_TRUE(Erase("Bad", RowDelete("r1", "r2")));
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Read("Good").size(), 100u);
  const Result<Rows> damaged = TryRead("Bad");
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(damaged.error().message().find(BlockFiles()[0].string()), std::string::npos)
      << damaged.error().message();
  ScanSpec elsewhere;
  elsewhere.ranges = {{"s", "t"}};
  EXPECT_EQ(Read("Bad", elsewhere).size(), 100u) << "what does not need the file is answered";
  EXPECT_TRUE(std::filesystem::exists(BlockFiles()[0])) << "evidence stays";
}

// Whoever writes all the time gives it another head to seal whenever it has sealed one.
TEST_F(SealerTest, DeletesArePurgedThoughThereIsAlwaysAHeadToSeal) {
  config().purge_deadline_us = kUsPerDay;
  config().seal_delay_us = 1;
  config().sync = Sync::kInterval;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H"), MakeTable("Busy")})));
  PutRows("H", "r", 1000);
  ASSERT_TRUE(store().Settle());
  ASSERT_TRUE(Erase("H", RowDelete("r10017", "r10018")));
  clock.now += kUsPerDay;
  std::atomic<bool> purged = false;
  std::thread writer([&] {
    while (!purged) PutRows("Busy", "b", 10);
  });
  const bool in_time = Await([&] { return Told("pending_deletes") == 0; });
  purged = true;
  writer.join();
  EXPECT_TRUE(in_time);
  EXPECT_EQ(Read("H").size(), 999u);
}

// Bounded in processor time, not in time: other processes do not count.
TEST_F(SealerTest, IdleItCostsNothingWhateverTheNumberOfFiles) {
  config().seal_window_us = 1;
  config().write_buffer = 16 * kMiB;
  Table table = MakeTable("H");
  for (Family& family : table.families) family.max_age_us = 10 * kUsPerDay;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 16; ++i) Put("H", "r", clock.Now() + round * 16 + i, i);
    ASSERT_TRUE(store().Settle());
  }
  ASSERT_GT(BlockFiles().size(), 500u);
  const auto before = SpentMicroseconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_LT(SpentMicroseconds() - before, 20'000) << "microseconds";
}

}  // namespace
}  // namespace tallyd
