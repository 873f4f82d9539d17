#include "storage/leveldb/latest/latest_loader.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "tests/storage/leveldb/latest/memory_head.h"

namespace tallyd {
namespace {

constexpr TableId kHistory = 1;
constexpr TableId kTable = 4;
constexpr TableId kDropped = 9;

class LatestLoaderTest : public ::testing::Test {
 protected:
  LatestLoaderTest() {
    for (const TableId table : {kHistory, kTable}) {
      TableInfo& info = tables_[table];
      info.id = table;
      info.families = {{"F", true, {}}};
      info.family_rank = {0};
      const ColumnRef column{0, "a"};
      sets_.Intern(info, {&column, 1});
    }
  }

  static std::string EntryOf(int value) {
    const ColumnRef column{0, "a"};
    const Value values[] = {Value::Int(value)};
    ByteBuffer buffer;
    AppendEntry({&column, 1}, values, &buffer);
    return std::string(buffer.View(0, buffer.size()));
  }

  static std::string RowOf(TimeUs time, int value) {
    const std::string entry = EntryOf(value);
    const Layer layer{time, 1, entry};
    std::string row;
    EncodeLatest({&layer, 1}, &row);
    return row;
  }

  // Layers of these times and values.
  static std::string_view Addition(const std::vector<std::pair<TimeUs, int>>& layers) {
    static std::deque<std::string> kept;
    std::string bytes;
    for (const auto& [time, value] : layers) AppendLayer({time, 1, EntryOf(value)}, &bytes);
    return kept.emplace_back(std::string("\x80\x00", 2) + bytes);
  }

  void Changes(uint64_t sequence, const std::vector<LatestChangeRecord>& changes) {
    std::string record;
    for (const LatestChangeRecord& change : changes) AppendLatestChange(change, &record);
    head_.Put(LatestChangesKey(sequence), record);
  }

  void HistoryEntry(uint64_t sequence, const std::string& entry) {
    std::string key(MaxEntryKeyBytes(1), '\0');
    key.resize(static_cast<size_t>(EncodeEntryKey(key.data(), kHistory, "h", 5) - key.data()));
    PatchSequence(key.data(), key.size(), sequence);
    head_.Put(key, entry);
  }

  Status AddHead() { return loader_.AddChanges(head_.NewIterator().get()); }

  Status AddStored(TableId table, const std::string& key, const std::string& row) {
    return loader_.AddStored(RowPrefix(KeySpace::kLatest, table, key), row);
  }

  // What is in memory.
  std::map<std::string, std::string> Rows() {
    LatestTables::Rows taken = loader_.Take();
    EXPECT_LE(taken.size(), 1u);
    std::map<std::string, std::string> rows;
    for (const auto& [table, of_table] : taken) {
      EXPECT_EQ(table, kTable);
      for (auto at = of_table.begin(); at != of_table.end(); at = of_table.Next(at)) {
        rows.emplace(of_table.At(at).key(), of_table.At(at).value());
      }
    }
    return rows;
  }

  std::map<TableId, TableInfo> tables_;
  ColumnRegistry sets_;
  LatestLoader loader_{sets_, tables_};
  MemoryHead head_;
};

TEST_F(LatestLoaderTest, AHeadsLastChangeOfARowCounts) {
  ASSERT_TRUE(AddStored(kTable, "a", RowOf(1, 1)));
  ASSERT_TRUE(AddStored(kTable, "b", RowOf(1, 1)));
  ASSERT_TRUE(AddStored(kTable, "c", RowOf(1, 1)));
  const std::string second = RowOf(2, 2), third = RowOf(3, 3);
  Changes(10, {{kTable, "a", second}, {kTable, "b", ""}, {kTable, "d", second}});
  Changes(20, {{kTable, "a", third}, {kTable, "d", ""}});
  ASSERT_TRUE(AddHead());
  EXPECT_EQ(Rows(), (std::map<std::string, std::string>{{"a", third}, {"c", RowOf(1, 1)}}));
}

TEST_F(LatestLoaderTest, AReferenceBringsTheValuesOfItsEntry) {
  const ColumnSet& set = *sets_.Find(kTable, 1);
  const ColumnSet& of_history = *sets_.Find(kHistory, 1);
  const Value values[] = {Value::Int(7)};
  ByteBuffer entry;
  AppendEntry(of_history, values, &entry);
  HistoryEntry(11, std::string(entry.View(0, entry.size())));
  std::string twin, other;
  EncodeLatestTwin({5, 12, 11, set.id}, &twin);
  EncodeLatestTwin({5, 13, 11, set.id}, &other);
  Changes(13, {{kTable, "a", twin}, {kTable, "b", other}});
  ASSERT_TRUE(AddHead());
  std::vector<Layer> layers;
  const auto rows = Rows();
  ASSERT_EQ(rows.size(), 2u);
  ASSERT_TRUE(DecodeLatest(rows.at("b"), &layers));
  EXPECT_EQ(layers[0].sequence, 13u);
  EXPECT_EQ(layers[0].entry, entry.View(0, entry.size()));
}

TEST_F(LatestLoaderTest, AReferenceWithoutItsEntryIsRefused) {
  std::string twin;
  EncodeLatestTwin({5, 12, 11, 1}, &twin);
  Changes(12, {{kTable, "a", twin}});
  const Status added = AddHead();
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code(), ErrorCode::kCorruption);
}

TEST_F(LatestLoaderTest, AReferenceThatALaterChangeReplacesNeedsNoEntry) {
  std::string twin;
  EncodeLatestTwin({5, 12, 11, 1}, &twin);
  Changes(12, {{kTable, "a", twin}});
  const std::string row = RowOf(6, 1);
  Changes(13, {{kTable, "a", row}});
  ASSERT_TRUE(AddHead());
  EXPECT_EQ(Rows().at("a"), row);
}

TEST_F(LatestLoaderTest, RowsOfADroppedTableAreLeftOut) {
  ASSERT_TRUE(AddStored(kDropped, "a", RowOf(1, 1)));
  const std::string row = RowOf(1, 1);
  Changes(10, {{kDropped, "b", row}, {kTable, "b", row}});
  ASSERT_TRUE(AddHead());
  EXPECT_EQ(Rows(), (std::map<std::string, std::string>{{"b", row}}));
}

TEST_F(LatestLoaderTest, MalformedRowsAreRefusedNamingTheRecord) {
  EXPECT_EQ(AddStored(kTable, "a", "junk").error().code(), ErrorCode::kCorruption);
  const std::string long_key(5000, 'k');
  EXPECT_FALSE(AddStored(kTable, long_key, RowOf(1, 1)));
  head_.Put(LatestChangesKey(1), "junk");
  const Status added = AddHead();
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().message().find("210000000000000001"), std::string::npos)
      << added.error().message();
}

TEST_F(LatestLoaderTest, WhatAHeadAddedIsMergedWithTheWholeRowBefore) {
  ASSERT_TRUE(AddStored(kTable, "a", RowOf(100, 1)));
  const std::string first = RowOf(5, 5);
  Changes(10, {{kTable, "a", Addition({{90, 4}})}, {kTable, "b", first}});
  Changes(20, {{kTable, "a", first}, {kTable, "b", ""}});
  Changes(30, {{kTable, "a", Addition({{4, 4}})}, {kTable, "b", Addition({{1, 1}})}});
  Changes(40, {{kTable, "a", Addition({{7, 7}, {6, 6}})}});
  ASSERT_TRUE(AddHead());
  EXPECT_EQ(Rows(), (std::map<std::string, std::string>{{"a", RowOf(7, 7)}, {"b", RowOf(1, 1)}}));
}

// A salvage may have lost what it was added to.
TEST_F(LatestLoaderTest, WhatWasAddedIsMergedWithWhatOlderHeadsAndBaseHave) {
  ASSERT_TRUE(AddStored(kTable, "a", RowOf(8, 8)));
  ASSERT_TRUE(AddStored(kTable, "b", RowOf(8, 8)));
  Changes(10, {{kTable, "a", Addition({{7, 7}})},
               {kTable, "b", Addition({{9, 9}})},
               {kTable, "c", Addition({{9, 9}})}});
  ASSERT_TRUE(AddHead());
  EXPECT_EQ(Rows(), (std::map<std::string, std::string>{
                        {"a", RowOf(8, 8)}, {"b", RowOf(9, 9)}, {"c", RowOf(9, 9)}}));
}

TEST_F(LatestLoaderTest, AMalformedAdditionIsRefusedNamingTheRecord) {
  Changes(1, {{kTable, "a", std::string("\x80\x00junk", 6)}});
  const Status added = AddHead();
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code(), ErrorCode::kCorruption);
  EXPECT_NE(added.error().message().find("210000000000000001"), std::string::npos);
}

}  // namespace
}  // namespace tallyd
