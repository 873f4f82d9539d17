#include "storage/leveldb/seal/purge_job.h"

#include <gtest/gtest.h>

#include "tests/storage/leveldb/seal/sealer_fixture.h"

namespace tallyd {
namespace {

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
  PutRows("H", "wake", 1);
  EXPECT_TRUE(Await([&] {
    PutRows("H", "wake", 1);
    return Told("pending_deletes") == 0;
  }));
  EXPECT_EQ(Read("H").size(), 25'000u);
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

}  // namespace
}  // namespace tallyd
