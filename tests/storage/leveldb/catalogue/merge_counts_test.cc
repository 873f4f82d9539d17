#include "storage/leveldb/catalogue/merge_counts.h"

#include <gtest/gtest.h>

#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

constexpr TableId kTable = 3;

class MergeCountsTest : public ::testing::Test {
 protected:
  MergeCountsTest() { counts_.SetTelling({{kTable, {{0, "sensor"}}}}); }
  // As the database would have it after what is known was written.
  MergeCounts::Records Stored() {
    MergeCounts::Records records;
    for (const auto& [key, value] : counts_.Unwritten()) {
      TableId id = 0;
      ByteReader(std::string_view(key).substr(2)).GetU32(&id);
      records[id] = *DecodeMergeRecord(value);
    }
    return records;
  }

  MergeCounts counts_;
};

TEST_F(MergeCountsTest, WhatWasMetIsNotCountedAgainWhenItIsWrittenAnew) {
  counts_.Met(kTable, 1, 2);
  counts_.Met(kTable, 2, 1);
  EXPECT_EQ(counts_.Of(kTable).count, 3u);
  MergesFound found;
  found.Add(1, 2);
  counts_.Count(kTable, found);
  EXPECT_EQ(counts_.Of(kTable).count, 3u);
}

TEST_F(MergeCountsTest, TheRecordHasWhatIsCountedWithIt) {
  MergesFound found;
  found.Add(1, 2);
  found.columns = {{{0, "v"}, 2}};
  const auto [key, value] = counts_.RecordWith(kTable, found);
  EXPECT_EQ(key, MergedEventsKey(kTable));
  const Result<MergeRecord> record = DecodeMergeRecord(value);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->count, 2u);
  EXPECT_TRUE(record->any);
  EXPECT_EQ(record->columns, found.columns);
}

TEST_F(MergeCountsTest, AColumnThatDifferedTellsOnceItTellsEventsApart) {
  MergesFound found;
  found.columns = {{{0, "rack"}, 3}};
  counts_.Count(kTable, found);
  EXPECT_FALSE(counts_.Of(kTable).any);
  counts_.SetTelling({{kTable, {{0, "sensor"}, {0, "rack"}}}});
  EXPECT_TRUE(counts_.Of(kTable).any);
  EXPECT_EQ(counts_.Of(kTable).count, 3u);
}

TEST_F(MergeCountsTest, TooManyColumnsAreAny) {
  MergesFound found;
  for (size_t i = 0; i <= MergeCounts::kMaxColumns; ++i) {
    found.columns.push_back({{0, "c" + std::to_string(i)}, 1});
  }
  counts_.Count(kTable, found);
  EXPECT_TRUE(counts_.Of(kTable).any);
}

TEST_F(MergeCountsTest, CountingBeginsOnce) {
  counts_.Begin({{kTable, 50}});
  EXPECT_EQ(counts_.Of(kTable).unknown_before, 50);
  counts_.Begin({{kTable, 70}});
  EXPECT_EQ(counts_.Of(kTable).unknown_before, 50);
  MergeCounts later;
  later.Replace(Stored());
  later.Begin({{kTable, 70}});
  EXPECT_EQ(later.Of(kTable).unknown_before, 50);
}

TEST_F(MergeCountsTest, WhatIsNotWrittenYetOutlivesAReopening) {
  counts_.Begin({});
  counts_.Met(kTable, 1, 1);
  EXPECT_TRUE(counts_.has_met());
  counts_.Replace({});
  EXPECT_TRUE(counts_.Of(kTable).any);
  EXPECT_TRUE(counts_.has_met());
  counts_.WasWritten(counts_.Unwritten());
  EXPECT_FALSE(counts_.has_met());
  EXPECT_TRUE(counts_.Unwritten().empty());
}

TEST(MergeRecordTest, Bytes) {
  const MergeRecord record{6, true, 300, false, {{{0, "a"}, 6}}};
  EXPECT_EQ(MergedEventsKey(3), std::string("\x00\x15\x00\x00\x00\x03", 6));
  EXPECT_EQ(EncodeMergeRecord(record), std::string("\x01\x06\x01\xac\x02\x01\x00\x01" "a\x06", 10));
  EXPECT_EQ(*DecodeMergeRecord(EncodeMergeRecord(record)), record);
  EXPECT_FALSE(DecodeMergeRecord("\x02"));
  EXPECT_FALSE(DecodeMergeRecord(EncodeMergeRecord(record) + "x"));
}

}  // namespace
}  // namespace tallyd
