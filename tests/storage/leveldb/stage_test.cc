// Tables that are made behind their names: what readers see before, at and after the swap, and what
// a crash leaves.
#include <gtest/gtest.h>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class StageTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("SOURCE")})));
  }
  // An entry in the table that is staged for DAY.
  void Fill(const TablePtr& staged, const std::string& row, int64_t value) {
    std::unique_ptr<Batch> batch = NewBatch();
    const std::vector<ColumnRef> columns = {{*staged->FindFamily("A"), "x"}};
    const std::vector<Value> values = {Value::Int(value)};
    batch->Put(*staged, row, 5, columns, values);
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  void Make(int64_t value) {
    const Result<TablePtr> staged = store().StageTable(kDay);
    ASSERT_TRUE(staged) << staged.error().message();
    Fill(*staged, "r", value);
    const Status swapped = store().SwapStaged(kDay);
    ASSERT_TRUE(swapped) << swapped.error().message();
  }
  Rows Only(const std::string& value) { return {{"r", {{"A:x@5", value}}}}; }
  Schema WithDay() { return MakeSchema({MakeTable("SOURCE"), kDay}); }

  const Table kDay = MakeTable("DAY");
};

TEST_F(StageTest, NobodyFindsATableBeforeItHasItsName) {
  const Result<TablePtr> staged = store().StageTable(kDay);
  ASSERT_TRUE(staged);
  Fill(*staged, "r", 1);
  EXPECT_EQ(Find("DAY"), nullptr);
  EXPECT_EQ(Find((*staged)->name), nullptr);
  EXPECT_EQ(store().Tables().size(), 1u);
  EXPECT_EQ(*store().StagedTables(), std::vector<std::string>{"DAY"});
}

TEST_F(StageTest, ATableThatTookItsNameIsReadAndIsNoOrphan) {
  Make(1);
  EXPECT_EQ(Read("DAY"), Only("1"));
  EXPECT_FALSE(Find("DAY")->orphaned);
  EXPECT_TRUE(store().StagedTables()->empty());
}

TEST_F(StageTest, WhatWasReplacedIsReadByWhoBeganUntilItIsDropped) {
  Make(1);
  const TablePtr before = Find("DAY");
  Make(2);
  EXPECT_EQ(Read("DAY"), Only("2"));
  ScanSpec spec;
  spec.now = clock.Now();
  const auto scan = store().Scan(before, spec);
  const Result<bool> more = scan->Next();
  ASSERT_TRUE(more && *more);
  EXPECT_EQ(scan->row().cells.at(0).value, Value::Int(1));
  EXPECT_EQ(*store().StagedTables(), std::vector<std::string>{"DAY"});
  ASSERT_TRUE(store().DropStaged("DAY"));
  EXPECT_EQ(Read("DAY"), Only("2"));
  EXPECT_TRUE(store().StagedTables()->empty());
}

TEST_F(StageTest, StagingAgainBeginsWithNothing) {
  Fill(*store().StageTable(kDay), "old", 1);
  Make(2);
  EXPECT_EQ(Read("DAY"), Only("2"));
}

TEST_F(StageTest, SwapWithNothingStagedFreesTheName) {
  Make(1);
  ASSERT_TRUE(store().SwapStaged(kDay));
  EXPECT_EQ(Find("DAY"), nullptr);
  ASSERT_TRUE(store().DropStaged("DAY"));
  EXPECT_FALSE(store().SwapStaged(kDay));
}

TEST_F(StageTest, ARestartLeavesTheOldTableOrTheNewOne) {
  Make(1);
  Fill(*store().StageTable(kDay), "half", 2);
  ASSERT_TRUE(Adopt(WithDay()));
  Reopen();
  EXPECT_EQ(Read("DAY"), Only("1"));
  EXPECT_EQ(*store().StagedTables(), std::vector<std::string>{"DAY"});
  ASSERT_TRUE(store().DropStaged("DAY"));
  Make(3);
  Reopen();
  EXPECT_EQ(Read("DAY"), Only("3"));
}

TEST_F(StageTest, AdoptingTheTableChangesNothingOfIt) {
  Make(1);
  const TableId id = Find("DAY")->id;
  ASSERT_TRUE(Write("SOURCE", "r", 10, {{"A", "x", Value::Int(1)}}));
  ASSERT_TRUE(Adopt(WithDay()));
  EXPECT_EQ(Find("DAY")->id, id);
  EXPECT_EQ(Find("DAY")->membership.whole_from, 0);
  EXPECT_EQ(Read("DAY"), Only("1"));
}

TEST_F(StageTest, SettlingKeepsBothGenerations) {
  Make(1);
  ASSERT_TRUE(store().Settle());
  Make(2);
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Read("DAY"), Only("2"));
  ASSERT_TRUE(store().SwapStaged(kDay));
  EXPECT_EQ(Read("DAY"), Only("1"));
}

}  // namespace
}  // namespace tallyd
