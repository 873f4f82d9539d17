#include "storage/batch.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

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

class BatchCountsTest : public ::testing::Test {
 protected:
  BatchCountsTest() {
    set_.columns = {{0, "a"}, {0, "b"}};
    other_.columns = {{0, "b"}, {1, "c"}};
  }
  // Both columns of the set.
  void Add(const TableInfo& table, const char* row, TimeUs time, const ColumnSet& set) {
    counts_.Add(table, row, time, set, std::vector{Value::Int(1), Value::Int(2)});
  }

  const TableInfo history_ = TableOf(1, TableMode::kHistory);
  const TableInfo cell_ = TableOf(2, TableMode::kLatestCell);
  const TableInfo row_ = TableOf(3, TableMode::kLatestRow);
  ColumnSet set_, other_;
  BatchCounts counts_;
};

TEST_F(BatchCountsTest, RowsOfDifferentTablesAreDifferentRows) {
  Add(history_, "r", 1, set_);
  Add(cell_, "r", 1, set_);
  EXPECT_EQ(counts_.rows(), 2u);
  EXPECT_EQ(counts_.cells(), 4u);
}

TEST_F(BatchCountsTest, TheSameCellTwiceIsOneCell) {
  Add(history_, "r", 1, set_);
  Add(history_, "r", 1, set_);
  Add(history_, "r", 1, other_);
  Add(history_, "r", 2, set_);
  EXPECT_EQ(counts_.rows(), 1u);
  EXPECT_EQ(counts_.cells(), 5u);
}

TEST_F(BatchCountsTest, LatestTablesHaveOneCellAColumn) {
  Add(cell_, "r", 1, set_);
  Add(cell_, "r", 2, set_);
  Add(cell_, "r", 3, other_);
  EXPECT_EQ(counts_.cells(), 3u);
}

TEST_F(BatchCountsTest, LatestRowsKeepTheNewestEvent) {
  Add(row_, "r", 5, set_);
  counts_.Add(row_, "r", 7, set_, std::vector{Value::Int(1), Value()});
  Add(row_, "r", 6, other_);
  EXPECT_EQ(counts_.cells(), 1u);
}

TEST_F(BatchCountsTest, NullsAreNoCells) {
  counts_.Add(history_, "r", 1, set_, std::vector{Value::Int(1), Value()});
  counts_.Add(history_, "s", 1, set_, std::vector{Value(), Value()});
  EXPECT_EQ(counts_.rows(), 1u);
  EXPECT_EQ(counts_.cells(), 1u);
}

TEST_F(BatchCountsTest, OfTheSetOfManyColumnsThoseCountThatAnyPutHas) {
  ColumnSet wide;
  for (int i = 0; i < 150; ++i) wide.columns.push_back({0, std::to_string(i)});
  for (size_t first : {0, 100}) {
    std::vector<Value> values(150);
    for (size_t i = first; i < first + 50; ++i) values[i] = Value::Int(1);
    values[70] = Value::Int(2);
    counts_.Add(cell_, "r", 1, wide, values);
    counts_.Add(history_, "r", static_cast<TimeUs>(first), wide, values);
  }
  EXPECT_EQ(counts_.cells(), 101u + 51u + 51u);
}

// Both answer the same question, in different ways.
TEST_F(BatchCountsTest, AgreesWithThePreview) {
  std::mt19937 random(7);
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  for (int run = 0; run < 200; ++run) {
    BatchCounts counts;
    PreviewBatch preview;
    for (int i = 0; i < 12; ++i) {
      const TableInfo& table = std::array{&history_, &cell_, &row_}[random() % 3][0];
      const std::string row(1, static_cast<char>('r' + random() % 3));
      const auto time = static_cast<TimeUs>(random() % 3);
      std::vector<Value> values(2);
      for (Value& value : values) {
        if (random() % 5 > 0) value = Value::Int(1);
      }
      if (random() % 2 == 0) {
        const ColumnSet& set = random() % 2 == 0 ? set_ : other_;
        counts.Add(table, row, time, set, values);
        preview.Put(table, row, time, set, values);
      } else {
        const size_t first = random() % 3;
        const std::vector<ColumnRef> columns = {{0, names[first]}, {0, names[first + 1]}};
        counts.Add(table, row, time, columns, values);
        preview.Put(table, row, time, columns, values);
      }
    }
    uint64_t rows = 0, cells = 0;
    for (const PreviewTable& table : preview.Tables()) {
      rows += table.rows.size();
      for (const Row& row : table.rows) cells += row.cells.size();
    }
    ASSERT_EQ(counts.rows(), rows);
    ASSERT_EQ(counts.cells(), cells);
  }
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
