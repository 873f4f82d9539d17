#include "storage/bigtable/write/unfinished_cells.h"

#include <gtest/gtest.h>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

class UnfinishedCellsTest : public ::testing::Test {
 protected:
  UnfinishedCellsTest() {
    table_.name = "T";
    table_.families.emplace_back().name = "A";
    table_.family_rank = {0};
  }
  BigtableBatch BatchOf(const std::string& row, TimeUs time, int64_t value) {
    BigtableBatch batch(&tables_, 1, 1);
    const ColumnRef column{0, "x"};
    const Value put = Value::Int(value);
    batch.Put(table_, row, time, {&column, 1}, {&put, 1});
    return batch;
  }

  const BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
  WireTables tables_{*client_};
  TableInfo table_;
  UnfinishedCells cells_;
};

TEST_F(UnfinishedCellsTest, AnotherValueOfOneContradictsAndNothingElseDoes) {
  cells_.Add("k", BatchOf("r", 5, 1));
  EXPECT_TRUE(cells_.Contradicts(BatchOf("r", 5, 2)));
  EXPECT_FALSE(cells_.Contradicts(BatchOf("r", 5, 1))) << "it was sent again";
  EXPECT_FALSE(cells_.Contradicts(BatchOf("r", 6, 2)));
  EXPECT_FALSE(cells_.Contradicts(BatchOf("s", 5, 2)));
}

TEST_F(UnfinishedCellsTest, AnEventThatTakesThePlaceOfItsRowContradictsAnyOtherOfItsTime) {
  table_.mode = TableMode::kLatestRow;
  const auto with = [this](std::string_view qualifier) {
    BigtableBatch batch(&tables_, 1, 1);
    const ColumnRef column{0, qualifier};
    const Value put = Value::Int(1);
    batch.Put(table_, "r", 5, {&column, 1}, {&put, 1});
    return batch;
  };
  cells_.Add("k", with("x"));
  EXPECT_TRUE(cells_.Contradicts(with("y")));
  EXPECT_FALSE(cells_.Contradicts(with("x"))) << "it was sent again";
}

TEST_F(UnfinishedCellsTest, WhatIsFinishedIsForgotten) {
  cells_.Add("k", BatchOf("r", 5, 1));
  cells_.Add("again", BatchOf("r", 5, 1));
  cells_.Remove("k");
  EXPECT_TRUE(cells_.Contradicts(BatchOf("r", 5, 2)));
  cells_.Remove("again");
  cells_.Remove("unknown");
  EXPECT_FALSE(cells_.Contradicts(BatchOf("r", 5, 2)));
  EXPECT_TRUE(cells_.Keys().empty());
}

TEST_F(UnfinishedCellsTest, OfTwoThatAreLeftWithTwoValuesEitherContradicts) {
  cells_.Add("k", BatchOf("r", 5, 1));
  cells_.Add("l", BatchOf("r", 5, 2));
  EXPECT_TRUE(cells_.Contradicts(BatchOf("r", 5, 2)));
}

}  // namespace
}  // namespace tallyd
