// Work in the background: what it waits for, what it costs, and what must not hold it up.
#include "storage/leveldb/seal/sealer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <thread>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

constexpr uint64_t kMiB = 1u << 20;

class SealerTest : public ::testing::Test, public StoreHarness {
 protected:
  void Put(const std::string& table, const std::string& row, TimeUs time, int64_t value) {
    ASSERT_TRUE(Write(table, row, time, {{"A", "x", Value::Int(value)}}));
  }
  // Rows `prefix`0000 and so on, of one time each, in one batch.
  void PutRows(const std::string& table, const std::string& prefix, int rows) {
    auto batch = NewBatch();
    for (int i = 0; i < rows; ++i) {
      StoreHarness::Put(batch.get(), table, prefix + std::to_string(10'000 + i), clock.Now(),
                        {{"A", "x", Value::Int(i)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  std::vector<std::filesystem::path> BlockFiles() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(config_path() + "/blocks")) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  std::string config_path() const { return path() + "/db"; }
  static void FlipByteAt(const std::filesystem::path& file, std::streamoff at) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(at);
    const auto byte = static_cast<char>(bytes.get() ^ 0x40);
    bytes.seekp(at);
    bytes.put(byte);
  }
  template <class Condition>
  static bool Await(Condition condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
};

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
  elsewhere.range = {"s", "t"};
  EXPECT_EQ(Read("Bad", elsewhere).size(), 100u) << "what does not need the file is answered";
  EXPECT_TRUE(std::filesystem::exists(BlockFiles()[0])) << "evidence stays";
}

TEST_F(SealerTest, BelowTheFloorWhatFreesSpaceGoesOn) {
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
  rest.range = {"new", "o"};
  EXPECT_EQ(Read("H", rest).size(), 50u);
  EXPECT_EQ(store().State().pending_deletes, 0u);
}

TEST_F(SealerTest, AMergeForWhichThereIsNoRoomWritesNothing) {
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

TEST_F(SealerTest, ForgettingOneRowDoesNotRewriteItsFileUntilTheDeadline) {
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
  EXPECT_EQ(store().State().pending_deletes, 1u);
  EXPECT_EQ(Metric("tallyd_store_merged_bytes_total"), merged);
  clock.now += kUsPerDay;
  PutRows("H", "wake", 1);
  EXPECT_TRUE(Await([&] {
    PutRows("H", "wake", 1);
    return store().State().pending_deletes == 0;
  }));
  EXPECT_EQ(Read("H").size(), 25'000u);
}

TEST_F(SealerTest, ADeleteOfRowsThatNoFileHasIsForgottenWithoutReadingBlocks) {
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
  EXPECT_TRUE(Await([&] { return store().State().pending_deletes == 0; }));
  EXPECT_EQ(Metric("tallyd_store_merged_bytes_total"), merged);
}

TEST_F(SealerTest, AFileOfWhichMuchIsHiddenIsWrittenAgainAtOnce) {
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  PutRows("H", "r", 100);
  ASSERT_TRUE(store().Settle());
  ASSERT_TRUE(Erase("H", RowDelete("r", "r10060")));
  EXPECT_TRUE(Await([&] { return store().State().pending_deletes == 0; }));
  EXPECT_EQ(Read("H").size(), 40u);
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
  const auto spent = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec * 1'000'000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_sec * 1'000'000 + usage.ru_stime.tv_usec;
  };
  const auto before = spent();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_LT(spent() - before, 20'000) << "microseconds";
}

}  // namespace
}  // namespace tallyd
