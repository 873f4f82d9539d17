#include "service/limits/row_sizes.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

constexpr uint64_t kMiB = 1u << 20;

class RowSizesTest : public testing::Test {
 protected:
  static TablePtr TableOf(TableId id, std::optional<uint32_t> max_versions = {}) {
    TableInfo table;
    table.id = id;
    table.name = "T" + std::to_string(id);
    table.families.resize(1);
    table.families[0].configured = true;
    table.families[0].rules.max_versions = max_versions;
    return std::make_shared<const TableInfo>(table);
  }
  RowBytes Batch(const std::string& key, TimeUs time, uint64_t bytes, TablePtr table = {}) {
    RowBytes batch(RowSampling{true, 0});
    batch.Add(table ? table : table_, key, time, bytes);
    return batch;
  }
  // Whether the row takes it.
  bool Write(const std::string& key, TimeUs time, uint64_t bytes, TablePtr table = {}) {
    const RowBytes batch = Batch(key, time, bytes, table);
    if (!sizes_.Check(batch)) return false;
    warned_ += sizes_.Add(batch).size();
    return true;
  }
  void Measure(uint64_t bytes) {
    const auto row = sizes_.TakeToMeasure();
    ASSERT_TRUE(row);
    sizes_.Measured(*row, bytes);
  }

  RowSizes sizes_;
  TablePtr table_ = TableOf(1);
  size_t warned_ = 0;
};

TEST_F(RowSizesTest, ARowTakesWhatItMayHoldAndNoMore) {
  EXPECT_TRUE(Write("a", 1, 200 * kMiB));
  EXPECT_TRUE(Write("a", 2, 56 * kMiB));
  EXPECT_FALSE(Write("a", 3, 1));
  EXPECT_TRUE(Write("b", 3, 1));
}

TEST_F(RowSizesTest, ARefusalNamesTableKeyAndSize) {
  const Status refused = sizes_.Check(Batch("server1#2026", 1, kMaxRowBytes + 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      "row \"server1#2026\" of table T1 would have about 268435457 bytes; a row holds "
      "268435456 at most",
      refused.error().message());
}

TEST_F(RowSizesTest, ALargeRowIsToldOnce) {
  EXPECT_TRUE(Write("a", 1, 100 * kMiB));
  EXPECT_EQ(warned_, 0u);
  EXPECT_TRUE(Write("a", 2, 1));
  EXPECT_EQ(warned_, 1u);
  EXPECT_TRUE(Write("a", 3, 1));
  EXPECT_EQ(warned_, 1u);
  ASSERT_EQ(sizes_.Large().size(), 1u);
  EXPECT_EQ(sizes_.Large()[0].key, "a");
  EXPECT_EQ(sizes_.Large()[0].bytes, 100 * kMiB + 2);
}

TEST_F(RowSizesTest, WhatMayReplaceOlderCellsIsNotRefused) {
  EXPECT_TRUE(Write("a", 5, 90 * kMiB));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Write("a", 5, 90 * kMiB));
  const TablePtr one_version = TableOf(2, 1);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Write("a", i, 90 * kMiB, one_version));
}

TEST_F(RowSizesTest, WhatIsMeasuredCounts) {
  EXPECT_TRUE(Write("a", 1, 200 * kMiB));
  Measure(50 * kMiB);
  EXPECT_TRUE(sizes_.Large().empty());
  EXPECT_TRUE(Write("a", 2, 200 * kMiB));
  Measure(300 * kMiB);
  EXPECT_FALSE(Write("a", 3, 1));
  EXPECT_FALSE(sizes_.TakeToMeasure() == std::nullopt) << "it may have become smaller";
}

TEST_F(RowSizesTest, WhatIsWrittenWhileARowIsMeasuredCountsToo) {
  EXPECT_TRUE(Write("a", 1, 200 * kMiB));
  const auto row = sizes_.TakeToMeasure();
  ASSERT_TRUE(row);
  EXPECT_TRUE(Write("a", 2, 50 * kMiB));
  sizes_.Measured(*row, 200 * kMiB);
  EXPECT_FALSE(Write("a", 3, 10 * kMiB));
}

TEST_F(RowSizesTest, ADeleteMakesRoomAtOnce) {
  EXPECT_TRUE(Write("a#1", 1, 250 * kMiB));
  EXPECT_FALSE(Write("a#1", 2, 10 * kMiB));
  sizes_.Shrink(2, {});
  sizes_.Shrink(1, {"b", "c"});
  EXPECT_FALSE(Write("a#1", 2, 10 * kMiB));
  sizes_.Shrink(1, PrefixRange("a#"));
  EXPECT_TRUE(Write("a#1", 2, 10 * kMiB));
  Measure(200 * kMiB);
  EXPECT_FALSE(Write("a#1", 3, 60 * kMiB));
}

TEST_F(RowSizesTest, OneBatchOfManyEventsIsCountedTogether) {
  RowBytes batch(RowSampling{true, 0});
  for (int i = 0; i < 3; ++i) batch.Add(table_, "a", i, 90 * kMiB);
  EXPECT_FALSE(sizes_.Check(batch));
}

TEST_F(RowSizesTest, SmallWritesAreMetAsOftenAsTheyGrow) {
  uint64_t met = 0;
  for (int batch = 0; batch < 10'000; ++batch) {
    RowBytes bytes(sizes_.Sampling());
    for (int i = 0; i < 10; ++i) bytes.Add(table_, "a", batch * 10 + i, 100);
    for (const RowBytes::Entry& entry : bytes.entries()) met += entry.bytes;
  }
  EXPECT_GT(met, 9'000'000u);
  EXPECT_LT(met, 11'000'000u);
}

TEST_F(RowSizesTest, EveryRowIsFollowedOnceOneIsNearlyFull) {
  EXPECT_FALSE(sizes_.Sampling().every_row);
  EXPECT_TRUE(Write("a", 1, 200 * kMiB));
  EXPECT_TRUE(sizes_.Sampling().every_row);
  sizes_.Shrink(1, {});
  EXPECT_FALSE(sizes_.Sampling().every_row);
}

TEST_F(RowSizesTest, TheLargestRowsAreRemembered) {
  EXPECT_TRUE(Write("large", 1, 120 * kMiB));
  for (int i = 0; i < 20'000; ++i) EXPECT_TRUE(Write("r" + std::to_string(i), 1, kMiB));
  EXPECT_EQ(sizes_.Large().size(), 1u);
}

}  // namespace
}  // namespace tallyd
