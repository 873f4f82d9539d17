#include "storage/leveldb/seal/expiry_job.h"

#include <gtest/gtest.h>

#include "tests/storage/leveldb/seal/sealer_fixture.h"

namespace tallyd {
namespace {

using ExpiryJobTest = SealerFixture;

TEST_F(ExpiryJobTest, AFileGoesWhenItsNewestCellHasExpiredAndNotBefore) {
  Table table = MakeTable("H");
  for (Family& family : table.families) family.max_age_us = 10 * kUsPerDay;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  PutRows("H", "r", 10);
  ASSERT_TRUE(store().Settle());
  clock.Pass(10 * kUsPerDay);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(BlockFiles().size(), 1u);
  clock.Pass(1);
  ASSERT_TRUE(store().Settle());
  EXPECT_TRUE(BlockFiles().empty());
}

TEST_F(ExpiryJobTest, AFamilyThatKeepsForEverKeepsTheFile) {
  Table table = MakeTable("H");
  table.families[0].max_age_us = kUsPerDay;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  PutRows("H", "r", 10);
  ASSERT_TRUE(store().Settle());
  clock.Pass(10 * kUsPerDay);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(BlockFiles().size(), 1u);
}

// A sum with such an age overflows.
TEST_F(ExpiryJobTest, AnAgeBeyondAllTimesExpiresNothing) {
  Table table = MakeTable("H");
  for (Family& family : table.families) {
    family.max_age_us = std::numeric_limits<int64_t>::max() - kUsPerDay;
  }
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({table})));
  PutRows("H", "r", 10);
  ASSERT_TRUE(store().Settle());
  clock.Pass(10 * kUsPerDay);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(BlockFiles().size(), 1u);
  EXPECT_EQ(Read("H").size(), 10u);
}

TEST_F(ExpiryJobTest, TheFilesOfADroppedTableGo) {
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H"), MakeTable("G")})));
  PutRows("H", "r", 10);
  PutRows("G", "r", 10);
  ASSERT_TRUE(store().Settle());
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("G")})));
  ASSERT_TRUE(store().DropTable("H"));
  EXPECT_TRUE(Await([&] { return BlockFiles().size() == 1; }));
  EXPECT_EQ(Read("G").size(), 10u);
}

}  // namespace
}  // namespace tallyd
