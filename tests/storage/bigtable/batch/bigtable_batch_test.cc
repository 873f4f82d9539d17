#include "storage/bigtable/batch/bigtable_batch.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

TableInfo TableOf(TableMode mode) {
  TableInfo table;
  table.id = 3;
  table.name = "T";
  table.mode = mode;
  table.families.emplace_back().name = "A";
  table.family_rank = {0};
  return table;
}

class BigtableBatchTest : public ::testing::Test {
 protected:
  void Put(const TableInfo& table, TimeUs time, std::string_view qualifier, const Value& value) {
    const ColumnRef column{0, qualifier};
    batch_.Put(table, "r", time, {&column, 1}, {&value, 1});
  }

  const std::unique_ptr<BigtableClient> client_ = BigtableService().Connect();
  WireTables tables_{*client_};
  BigtableBatch batch_{&tables_, 1, kUsPerMs};
};

TEST_F(BigtableBatchTest, HasOneEntryForARow) {
  const TableInfo table = TableOf(TableMode::kHistory);
  Put(table, 5'000, "x", Value::Int(1));
  Put(table, 6'999, "y", Value::String("1"));
  ASSERT_EQ(batch_.steps().size(), 1u);
  ASSERT_EQ(batch_.steps()[0].rows.size(), 1u);
  const auto& mutations = batch_.steps()[0].rows[0].entry.mutations();
  ASSERT_EQ(mutations.size(), 2);
  EXPECT_EQ(mutations[1].set_cell().timestamp_micros(), 6'000) << "whole milliseconds";
  EXPECT_EQ(mutations[1].set_cell().value(), "'1");
}

TEST_F(BigtableBatchTest, KeepsTheNewestEventOfALatestRow) {
  const TableInfo table = TableOf(TableMode::kLatestRow);
  Put(table, 5'000, "x", Value::Int(1));
  Put(table, 7'000, "y", Value::Int(2));
  Put(table, 6'000, "z", Value::Int(3));
  const BigtableBatch::Entry& entry = batch_.steps()[0].rows[0];
  ASSERT_EQ(entry.entry.mutations_size(), 1);
  EXPECT_EQ(entry.entry.mutations(0).set_cell().column_qualifier(), "y");
  EXPECT_EQ(entry.time, 7'000);
}

TEST_F(BigtableBatchTest, BeginsAnewBehindADelete) {
  const TableInfo table = TableOf(TableMode::kHistory);
  Put(table, 5'000, "x", Value::Int(1));
  batch_.Delete(table, {{"r", "s"}, {}, {}, {}});
  Put(table, 5'000, "x", Value::Int(2));
  ASSERT_EQ(batch_.steps().size(), 2u);
  EXPECT_TRUE(batch_.steps()[0].removal);
  EXPECT_EQ(batch_.steps()[1].rows.size(), 1u);
  EXPECT_TRUE(batch_.has_removals());
}

TEST_F(BigtableBatchTest, JoinsDeletesThatDifferInTheirRowsAlone) {
  const TableInfo table = TableOf(TableMode::kHistory);
  for (const char* key : {"a", "b", "c"}) batch_.Delete(table, {PrefixRange(key), {}, {}, {}});
  ASSERT_EQ(batch_.steps().size(), 2u);
  EXPECT_EQ(batch_.steps()[0].removal->ranges.size(), 3u);
  batch_.Delete(table, {PrefixRange("b"), {}, {}, {}});
  EXPECT_EQ(batch_.steps().size(), 3u) << "it lies before the last";
  batch_.Delete(table, {PrefixRange("d"), {}, {}, {0, 5'000}});
  EXPECT_EQ(batch_.steps().size(), 4u) << "of it something stays";
  Put(table, 5'000, "x", Value::Int(1));
  batch_.Delete(table, {PrefixRange("e"), {}, {}, {0, 5'000}});
  EXPECT_EQ(batch_.steps().size(), 5u) << "a row was put between them";
}

TEST_F(BigtableBatchTest, WhatGoesOfARowIsInItsEntryWhereBigtableCanSaySo) {
  TableInfo table = TableOf(TableMode::kHistory);
  const KeyRange row = RangeOfKey("r");
  Put(table, 5'000, "x", Value::Int(1));
  batch_.Delete(table, {row, {}, {}, {}});
  batch_.Delete(table, {row, FamilyId{0}, {}, {}});
  batch_.Delete(table, {row, FamilyId{0}, "x", {1'001, 3'000}});
  batch_.Delete(table, {row, FamilyId{0}, "x", {1'001, 2'000}});  // No cell has such a time.
  Put(table, 5'000, "x", Value::Int(2));
  EXPECT_FALSE(batch_.has_removals());
  ASSERT_EQ(batch_.steps().size(), 1u);
  ASSERT_EQ(batch_.steps()[0].rows.size(), 1u);
  const auto& mutations = batch_.steps()[0].rows[0].entry.mutations();
  ASSERT_EQ(mutations.size(), 5);
  EXPECT_TRUE(mutations[1].has_delete_from_row());
  EXPECT_EQ(mutations[2].delete_from_family().family_name(), "A");
  const auto& column = mutations[3].delete_from_column();
  EXPECT_EQ(column.column_qualifier(), "x");
  EXPECT_EQ(column.time_range().start_timestamp_micros(), 2'000);
  EXPECT_EQ(column.time_range().end_timestamp_micros(), 3'000);
  EXPECT_TRUE(mutations[4].has_set_cell());
  batch_.Delete(table, {row, FamilyId{0}, {}, {1'001, 3'000}});
  EXPECT_EQ(batch_.steps().size(), 2u) << "which columns the row has is to be read";
}

TEST_F(BigtableBatchTest, ARowThatFoldsOrIsCheckedIsDeletedByItself) {
  TableInfo sums = TableOf(TableMode::kHistory);
  sums.families[0].rules.aggregate = Aggregate::kSum;
  for (const TableInfo& table : {TableOf(TableMode::kLatestRow), sums}) {
    BigtableBatch batch(&tables_, 1, kUsPerMs);
    batch.Delete(table, {RangeOfKey("r"), {}, {}, {}});
    EXPECT_TRUE(batch.has_removals());
  }
}

TEST_F(BigtableBatchTest, FoldsTheInputsOfACellIntoOne) {
  for (const auto& [kind, folded] : {std::pair(Aggregate::kSum, 4), std::pair(Aggregate::kMin, -3),
                                     std::pair(Aggregate::kMax, 7)}) {
    BigtableBatch batch(&tables_, 1, kUsPerMs);
    TableInfo table = TableOf(TableMode::kHistory);
    table.id += static_cast<TableId>(kind);
    table.families[0].rules.aggregate = kind;
    const auto put = [&](TimeUs time, std::string_view qualifier, const Value& state) {
      const ColumnRef column{0, qualifier};
      batch.Put(table, "r", time, {&column, 1}, {&state, 1});
    };
    put(5'000, "x", Value::Int(7));
    put(5'000, "y", Value::Int(1));
    put(6'000, "x", Value::Int(2));
    put(5'000, "x", Value::Int(-3));
    const BigtableBatch::Entry& row = batch.steps()[0].rows[0];
    EXPECT_TRUE(row.folds);
    EXPECT_EQ(row.counts, kind == Aggregate::kSum);
    ASSERT_EQ(row.entry.mutations_size(), 3);
    EXPECT_EQ(row.entry.mutations(0).add_to_cell().input().int_value(), folded);
    EXPECT_FALSE(batch.refused());
    put(5'000, "x", Value::Bytes(std::string(16, '\x7f')));
    EXPECT_TRUE(batch.refused()) << "a sum of 128 bits";
  }
}

TEST_F(BigtableBatchTest, RefusesWhatIsTooLongAsItIsWritten) {
  const TableInfo table = TableOf(TableMode::kHistory);
  const auto refuses = [&](const Value& value) {
    BigtableBatch batch(&tables_, 1, kUsPerMs);
    const ColumnRef column{0, "x"};
    batch.Put(table, "r", 5'000, {&column, 1}, {&value, 1});
    return batch.refused().has_value();
  };
  std::string most(kMaxValueBytes, 'x');
  EXPECT_FALSE(refuses(Value::String(most)));
  EXPECT_TRUE(refuses(Value::Bytes(most))) << "base64 is longer";
  most[0] = '\'';
  EXPECT_TRUE(refuses(Value::String(most))) << "another quote stands before it";
  const std::string name(kMaxQualifierBytes, 'n');
  batch_.AddField("s", name.substr(2), 1);
  EXPECT_FALSE(batch_.refused());
  batch_.AddField("s", name.substr(1), 1);
  EXPECT_TRUE(batch_.refused());
}

TEST_F(BigtableBatchTest, RefusesAnEventThatNoCallCanPutInPlaceOfARow) {
  const TableInfo table = TableOf(TableMode::kLatestRow);
  const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (int i = 0; i < 100'000; ++i) made.push_back(std::to_string(i));
    return made;
  }();
  std::vector<ColumnRef> columns;
  for (const std::string& name : names) columns.push_back({0, name});
  const std::vector<Value> values(columns.size(), Value::Int(1));
  batch_.Put(table, "r", 5'000, std::span(columns).first(99'999), std::span(values).first(99'999));
  EXPECT_FALSE(batch_.refused());
  batch_.Put(table, "r", 6'000, columns, values);
  EXPECT_TRUE(batch_.refused());
}

TEST_F(BigtableBatchTest, OfAMemoTheLastChangeCounts) {
  EXPECT_TRUE(batch_.empty());
  batch_.PutMemo("k", "1", NoteOrder::kBefore);
  batch_.DropMemo("k");
  EXPECT_FALSE(batch_.empty());
  ASSERT_EQ(batch_.notes().memos.size(), 1u);
  EXPECT_FALSE(batch_.notes().memos.at("k").value);
}

}  // namespace
}  // namespace tallyd
