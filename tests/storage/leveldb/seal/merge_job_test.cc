#include "storage/leveldb/seal/merge_job.h"

#include <gtest/gtest.h>

#include <atomic>

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

}  // namespace
}  // namespace tallyd
