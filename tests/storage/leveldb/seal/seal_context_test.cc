#include "storage/leveldb/seal/seal_context.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/storage/leveldb/seal/sealer_fixture.h"

namespace tallyd {
namespace {

using SealContextTest = SealerFixture;

TEST_F(SealContextTest, BelowTheFloorWhatFreesSpaceGoesOn) {
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
  rest.ranges = {{"new", "o"}};
  EXPECT_EQ(Read("H", rest).size(), 50u);
  EXPECT_EQ(Told("pending_deletes"), 0u);
}

}  // namespace
}  // namespace tallyd
