#include "storage/batch.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TableInfo TableOf(TableId number, TableMode mode) {
  TableInfo table;
  table.id = number;
  table.mode = mode;
  table.families.resize(2);
  table.family_rank = {0, 1};
  return table;
}

TEST(PreviewBatchTest, ShowsRowsAsTheStoreWould) {
  TableInfo table;
  table.id = 1;
  table.name = "T";
  table.families.resize(2);
  table.family_rank = {1, 0};  // Family 1 comes first by name.
  PreviewBatch preview;
  EXPECT_TRUE(preview.empty());
  {
    const std::string text = "gone after Put";
    const std::vector<ColumnRef> columns = {{0, "x"}, {1, "y"}};
    preview.Put(table, "b", 1, columns, std::vector{Value::Int(1), Value::String(text)});
    preview.Put(table, "a", 1, columns, std::vector{Value::Int(1), Value()});
    preview.Put(table, "a", 2, columns, std::vector{Value::Int(2), Value()});
    preview.Put(table, "a", 1, columns, std::vector{Value::Int(3), Value::Int(4)});
  }
  const std::vector<PreviewTable> tables = preview.Tables();
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].table.name, "T");
  ASSERT_EQ(tables[0].rows.size(), 2u);
  const Row& a = tables[0].rows[0];
  EXPECT_EQ(a.key, "a");
  ASSERT_EQ(a.parts.size(), 2u);
  EXPECT_EQ(a.parts[0].time, 2);
  EXPECT_EQ(a.parts[1].time, 1);
  ASSERT_EQ(a.CellsOf(a.parts[1]).size(), 2u);
  EXPECT_EQ(a.CellsOf(a.parts[1])[0].column.qualifier, "y");
  EXPECT_EQ(a.CellsOf(a.parts[1])[0].value, Value::Int(4));
  EXPECT_EQ(a.CellsOf(a.parts[1])[1].value, Value::Int(3));
  const Row& b = tables[0].rows[1];
  EXPECT_EQ(b.cells[0].value, Value::String("gone after Put"));
}

// The values of the one row that puts at these times leave, newest first; each put writes its place
// in the list.
std::vector<Value> ValuesAfterPutsAt(TableMode mode, const std::vector<TimeUs>& times) {
  TableInfo table;
  table.id = 1;
  table.mode = mode;
  table.families.resize(1);
  table.family_rank = {0};
  PreviewBatch preview;
  const ColumnRef column{0, "x"};
  for (size_t i = 0; i < times.size(); ++i) {
    const Value values[] = {Value::Int(static_cast<int64_t>(i))};
    preview.Put(table, "a", times[i], {&column, 1}, values);
  }
  const std::vector<PreviewTable> tables = preview.Tables();
  std::vector<Value> left;
  for (const CellView& cell : tables.at(0).rows.at(0).cells) left.push_back(cell.value);
  return left;
}

TEST(PreviewBatchTest, FoldsTheInputsOfAnAggregateCell) {
  TableInfo table = TableOf(1, TableMode::kHistory);
  table.families[0].rules.aggregate = Aggregate::kSum;
  PreviewBatch preview;
  const ColumnRef columns[] = {{0, "x"}, {1, "y"}};
  for (const int64_t n : {1, 2, 3}) {
    preview.Put(table, "r", 5, columns, std::vector{Value::Int(n), Value::Int(n)});
  }
  preview.Put(table, "r", 4, columns, std::vector{Value::Int(9), Value()});
  const std::vector<PreviewTable> tables = preview.Tables();
  const Row& row = tables.at(0).rows.at(0);
  std::vector<Value> values;
  for (const CellView& cell : row.cells) values.push_back(cell.value);
  EXPECT_EQ(values, (std::vector{Value::Int(6), Value::Int(3), Value::Int(9)}));
  EXPECT_EQ(row.parts.size(), 2u);
}

TEST(PreviewBatchTest, OfTwoWritesTheOneWinsThatWinsInTheStore) {
  const auto int_of = [](int64_t value) { return Value::Int(value); };
  EXPECT_EQ(ValuesAfterPutsAt(TableMode::kHistory, {5, 7, 5}), (std::vector{int_of(1), int_of(2)}));
  for (const TableMode mode : {TableMode::kLatestCell, TableMode::kLatestRow}) {
    EXPECT_EQ(ValuesAfterPutsAt(mode, {5, 7, 6}), std::vector{int_of(1)});
    EXPECT_EQ(ValuesAfterPutsAt(mode, {5, 7, 7}), std::vector{int_of(2)});
  }
}

}  // namespace
}  // namespace tallyd
