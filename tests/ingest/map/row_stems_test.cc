// RowStems and RowBytes, and what the mapper puts into them.
#include "ingest/map/row_stems.h"

#include <gtest/gtest.h>

#include "tests/ingest/world.h"

namespace tallyd {
namespace {

constexpr const char* kTables = R"(
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{hostname}#{ts:ms}"
families.METRIC = {}
[tables.DAYS]
stream = "server"
pattern = "new-cell"
row_key = "{hostname}#{ts:salt(1)}#{ts:day}"
families.METRIC = {}
[tables.NOW]
stream = "server"
pattern = "latest"
row_key = "{hostname}"
families.METRIC = {}
)";

// "METRIC: server1#; ..." of each row, a star where the stem is the whole key.
std::string Show(const World& world, const RowStems& stems) {
  std::string all;
  for (const RowStems::OfTable& touched : stems.tables()) {
    for (const TablePtr& table : world.store->Tables()) {
      if (table->id == touched.table) all += table->name + ":";
    }
    for (const RowStems::Entry& entry : touched.entries) {
      all += fmt::format(" {}{}@{}", touched.StemOf(entry), entry.rows.is_whole ? "*" : "",
                         entry.rows.time / kUsPerMs);
    }
    all += "; ";
  }
  return all;
}

TEST(RowStemsTest, EveryRowOfAnEventHasTheStemOfItsKey) {
  World world(kTables);
  const MapOutcome outcome =
      world.Map(R"([{"hostname":"a","ts":5,"v":1},{"hostname":"b","ts":4,"v":1}])");
  EXPECT_EQ("METRIC: a#@5 b#@4; DAYS: a#1#@5 b#1#@4; NOW: a*@5 b*@4; ", Show(world, outcome.stems));
}

TEST(RowStemsTest, ARefusedEventHasNone) {
  World world(kTables);
  const MapOutcome outcome = world.Map(R"([{"hostname":"","ts":5,"v":1}])");
  EXPECT_TRUE(outcome.stems.tables().empty());
}

TEST(RowStemsTest, RowsReadOneBehindTheOtherAreCountedTogether) {
  RowStems stems;
  stems.AddRead(1, "a#", {0, false, 1});
  stems.AddRead(1, "a#", {0, false, 720});
  stems.AddRead(1, "b#", {0, false, 1});
  ASSERT_EQ(2u, stems.tables()[0].entries.size());
  EXPECT_EQ(721u, stems.tables()[0].entries[0].rows.count);
}

TEST(RowStemsTest, PartsOfARequestAreAppended) {
  RowStems stems;
  stems.Add(1, "a#", {7, false, 1});
  RowStems other;
  other.Add(2, "b#", {8, false, 1});
  other.Add(1, "c#", {9, false, 1});
  stems.Append(other);
  ASSERT_EQ(2u, stems.tables().size());
  EXPECT_EQ("c#", stems.tables()[0].StemOf(stems.tables()[0].entries[1]));
}

TEST(RowBytesTest, OfSmallEventsOnlyRowsThatTakeManyAreFollowed) {
  World world(kTables);
  RecordingBatch batch;
  world.Map(R"({"hostname":"a","ts":5,"v":1,"t":"12345"})");
  const MapOutcome outcome =
      world.mappers.at("server")->Map(world.events, 0, &batch, nullptr, RowSampling{true, 0});
  ASSERT_EQ(1u, outcome.row_bytes.entries().size());
  const RowBytes::Entry& entry = outcome.row_bytes.entries()[0];
  EXPECT_EQ("DAYS", entry.table->name);
  EXPECT_EQ("a#1#19700101", entry.key);
  EXPECT_EQ(13u, entry.bytes);
}

TEST(RowBytesTest, OfALargeEventEveryRowIsFollowed) {
  World world(kTables);
  const std::string text(RowBytes::kSampleBytes, 'x');
  const MapOutcome outcome = world.Map(R"({"hostname":"a","ts":5,"t":")" + text + R"("})");
  EXPECT_EQ(3u, outcome.row_bytes.entries().size());
  EXPECT_EQ(0u, outcome.large_values);
}

TEST(RowBytesTest, WhatIsAsLargeAsASampleCountsAsItIs) {
  RowBytes bytes(RowSampling{false, RowBytes::kSampleBytes - 1});
  bytes.Add(nullptr, "large", 1, RowBytes::kSampleBytes);
  bytes.Add(nullptr, "small", 2, 1);
  ASSERT_EQ(2u, bytes.entries().size());
  EXPECT_EQ("large", bytes.entries()[0].key);
  EXPECT_EQ(RowBytes::kSampleBytes, bytes.entries()[0].bytes);
  EXPECT_EQ("small", bytes.entries()[1].key);
  EXPECT_EQ(RowBytes::kSampleBytes, bytes.entries()[1].bytes) << "for all that passed before it";
}

TEST(RowBytesTest, ValuesLargerThanRecommendedAreCounted) {
  World world(kTables);
  const std::string text(kRecommendedValueBytes + 1, 'x');
  EXPECT_EQ(1u, world.Map(R"({"hostname":"a","ts":5,"t":")" + text + R"("})").large_values);
}

}  // namespace
}  // namespace tallyd
