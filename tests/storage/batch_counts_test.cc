#include "storage/batch_counts.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "storage/batch.h"

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

// Rows beyond those expected, and a batch after another one in the same memory.
TEST_F(BatchCountsTest, CountsVeryManyRowsAndThenOthers) {
  for (const int rows : {3, 20'000, 1, 2000, 5000}) {
    counts_.Clear();
    counts_.Expect(8);
    for (int i = 0; i < 2 * rows; ++i) {
      Add(history_, std::to_string(i % rows).c_str(), i / rows, set_);
    }
    EXPECT_EQ(counts_.rows(), static_cast<uint64_t>(rows));
    EXPECT_EQ(counts_.cells(), static_cast<uint64_t>(4 * rows));
  }
}

TEST_F(BatchCountsTest, KeepsMuchAfterABatchOfVeryManyRows) {
  Add(history_, "r", 1, set_);
  EXPECT_FALSE(counts_.keeps_much());
  for (int i = 0; i < 20'000; ++i) Add(history_, "r", i, set_);
  counts_.Clear();
  EXPECT_TRUE(counts_.keeps_much());
}

TEST_F(BatchCountsTest, KeepsMuchAfterABatchOfMoreRowsThanAreExpectedAtMost) {
  for (int i = 0; i < 8193; ++i) Add(history_, std::to_string(i).c_str(), 1, set_);
  counts_.Clear();
  EXPECT_TRUE(counts_.keeps_much());
}

TEST_F(BatchCountsTest, KeepsMuchAfterABatchOfVeryManyColumns) {
  const std::vector<Value> values(1000, Value::Int(1));
  std::vector<std::string> names;
  for (size_t i = 0; i < values.size(); ++i) names.push_back(std::to_string(i));
  std::vector<ColumnRef> columns;
  for (const std::string& name : names) columns.push_back({0, name});
  for (int i = 0; i < 70; ++i) counts_.Add(history_, "r", i, columns, values);
  EXPECT_EQ(counts_.cells(), 70'000u);
  counts_.Clear();
  EXPECT_TRUE(counts_.keeps_much());
}

}  // namespace
}  // namespace tallyd
