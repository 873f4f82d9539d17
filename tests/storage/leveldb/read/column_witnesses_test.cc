#include "storage/leveldb/read/column_witnesses.h"

#include <gtest/gtest.h>

#include "storage/field_keeper.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class ColumnWitnessesTest : public ::testing::Test {
 protected:
  ColumnWitnessesTest() {
    harness_.Open();
    EXPECT_TRUE(harness_.Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
  }

  void Put(const std::string& table, const std::string& row, const std::string& qualifier,
           TimeUs time = kUsPerDay) {
    auto batch = harness_.NewBatch();
    harness_.Put(batch.get(), table, row, time, {{"A", qualifier, Value::Int(1)}});
    EXPECT_TRUE(harness_.Commit(std::move(batch)));
  }
  void Erase(const std::string& table, const std::string& row) {
    auto batch = harness_.NewBatch();
    harness_.Delete(batch.get(), table, {{row, row + '\0'}, {}, {}, {}});
    EXPECT_TRUE(harness_.Commit(std::move(batch)));
  }
  FieldKeeper& keeper() { return dynamic_cast<FieldKeeper&>(harness_.store()); }
  void Settle() { EXPECT_TRUE(harness_.store().Settle()); }
  // Those of A:x, A:y and B:x that the table has.
  std::string Has(const std::string& table) {
    const std::vector<Column> columns = {{0, "x"}, {0, "y"}, {1, "x"}};
    const Result<std::vector<bool>> has = keeper().HaveColumns(harness_.Find(table), columns);
    EXPECT_TRUE(has);
    std::string text;
    for (size_t i = 0; has && i < has->size(); ++i) text += (*has)[i] ? '1' : '0';
    return text;
  }

  StoreHarness harness_;
};

TEST_F(ColumnWitnessesTest, AColumnIsThereWhileAFileHasACellOfIt) {
  EXPECT_EQ(Has("H"), "000");
  Put("H", "a", "x");
  Put("H", "b", "y");
  Put("H", "b", "z");
  Settle();
  EXPECT_EQ(Has("H"), "110");
  Erase("H", "b");
  Settle();
  EXPECT_EQ(Has("H"), "100");
  Put("H", "c", "y", 40 * kUsPerDay);
  Settle();
  EXPECT_EQ(Has("H"), "110");
  Erase("H", "c");
  Erase("H", "a");
  Settle();
  EXPECT_EQ(Has("H"), "000");
}

TEST_F(ColumnWitnessesTest, WhatIsHiddenAndNotOffTheDiskIsThere) {
  for (int i = 0; i < 100; ++i) Put("H", "a" + std::to_string(i), "x");
  Put("H", "b", "y");
  Settle();
  harness_.Reopen();
  Erase("H", "b");
  EXPECT_EQ(Has("H"), "110");
}

TEST_F(ColumnWitnessesTest, OfALatestTableItsRowsTell) {
  Put("L", "a", "x");
  Put("L", "b", "y");
  EXPECT_EQ(Has("L"), "110");
  Erase("L", "b");
  EXPECT_EQ(Has("L"), "100");
}

TEST_F(ColumnWitnessesTest, ADoubtIsOverWhenWhatWasThereIsSealed) {
  Store& store = harness_.store();
  auto batch = harness_.NewBatch();
  batch->AddField("s", "f", TypeBit(ValueType::kInt64));
  harness_.Put(batch.get(), "H", "a", 1, {{"A", "f", Value::Int(1)}});
  EXPECT_TRUE(harness_.Commit(std::move(batch)));
  ASSERT_EQ(store.Fields("s").size(), 1u);
  EXPECT_TRUE(keeper().SettledFields("s").empty());
  Settle();
  EXPECT_EQ(keeper().SettledFields("s").size(), 1u);
  auto under_way = harness_.NewBatch();
  keeper().DoubtFields("s", {"f"});
  EXPECT_EQ(keeper().DoubtedFields("s").size(), 1u);
  EXPECT_FALSE(keeper().DoubtIsOver("s"));
  under_way.reset();
  EXPECT_TRUE(keeper().DoubtIsOver("s"));
  EXPECT_EQ(*keeper().ForgetFields("s", {"f", "other"}), 1u);
  EXPECT_TRUE(store.Fields("s").empty());
}

TEST_F(ColumnWitnessesTest, AFieldThatIsBroughtAgainIsDoubtedNoMore) {
  Store& store = harness_.store();
  const auto bring = [&](ValueType type) {
    auto batch = harness_.NewBatch();
    batch->AddField("s", "f", TypeBit(type));
    EXPECT_TRUE(harness_.Commit(std::move(batch)));
  };
  bring(ValueType::kInt64);
  keeper().DoubtFields("s", {"f"});
  bring(ValueType::kInt64);
  EXPECT_EQ(*keeper().ForgetFields("s", {"f"}), 0u);
  ASSERT_EQ(store.Fields("s").size(), 1u);
  EXPECT_TRUE(keeper().DoubtedFields("s").empty());
  harness_.Reopen();
  EXPECT_EQ(harness_.store().Fields("s").size(), 1u);
}

}  // namespace
}  // namespace tallyd
