#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class StoreTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    const Status adopted = Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest),
                                             MakeTable("R", Pattern::kLatest, true)}));
    ASSERT_TRUE(adopted) << adopted.error().message();
  }
};

TEST_F(StoreTest, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(1)}, {"B", "y", Value::String("two")}}));
  ASSERT_TRUE(Write("H", "b", 6, {{"A", "x", Value::Double(0.5)}}, false));
  const Rows expected = {{"a", {{"A:x@5", "1"}, {"B:y@5", "two"}}}, {"b", {{"A:x@6", "0.5"}}}};
  EXPECT_EQ(Read("H"), expected);
  Reopen();
  EXPECT_EQ(Read("H"), expected);
}

TEST_F(StoreTest, TheLaterWriteToACellWins) {
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(1)}, {"A", "y", Value::Int(1)}}));
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(2)}, {"B", "z", Value::Int(2)}}));
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"A:x@5", "2"}, {"A:y@5", "1"}, {"B:z@5", "2"}}}}));
}

TEST_F(StoreTest, TheLaterEventOfABatchWins) {
  auto batch = NewBatch();
  Put(batch.get(), "H", "a", 5, {{"A", "x", Value::Int(1)}});
  Put(batch.get(), "H", "a", 5, {{"A", "x", Value::Int(2)}});
  Put(batch.get(), "L", "a", 5, {{"A", "x", Value::Int(1)}});
  Put(batch.get(), "L", "a", 5, {{"A", "x", Value::Int(2)}});
  ASSERT_TRUE(Commit(std::move(batch)));
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"A:x@5", "2"}}}}));
  EXPECT_EQ(Read("L"), (Rows{{"a", {{"A:x@5", "2"}}}}));
}

TEST_F(StoreTest, LatestKeepsTheNewestCellOfEachColumn) {
  ASSERT_TRUE(Write("L", "m", 10, {{"A", "x", Value::Int(10)}, {"A", "y", Value::Int(10)}}));
  ASSERT_TRUE(Write("L", "m", 5, {{"A", "x", Value::Int(5)}, {"B", "z", Value::Int(5)}}));
  ASSERT_TRUE(Write("L", "m", 20, {{"A", "y", Value::Int(20)}}));
  const Rows expected = {{"m", {{"A:x@10", "10"}, {"A:y@20", "20"}, {"B:z@5", "5"}}}};
  EXPECT_EQ(Read("L"), expected);
  Reopen();
  EXPECT_EQ(Read("L"), expected);
}

TEST_F(StoreTest, LatestRowKeepsTheNewestEvent) {
  ASSERT_TRUE(Write("R", "m", 10, {{"A", "x", Value::Int(10)}, {"A", "y", Value::Int(10)}}));
  ASSERT_TRUE(Write("R", "m", 5, {{"B", "z", Value::Int(5)}}));
  EXPECT_EQ(Read("R"), (Rows{{"m", {{"A:x@10", "10"}, {"A:y@10", "10"}}}}));
  ASSERT_TRUE(Write("R", "m", 10, {{"B", "z", Value::Int(11)}}));
  EXPECT_EQ(Read("R"), (Rows{{"m", {{"B:z@10", "11"}}}}));
}

TEST_F(StoreTest, ADeleteForgetsWhatWasAndNothingLater) {
  for (const char* table : {"H", "L"}) {
    ASSERT_TRUE(Write(table, "a", 5, {{"A", "x", Value::Int(1)}}));
    ASSERT_TRUE(Write(table, "b", 5, {{"A", "x", Value::Int(1)}}));
    ASSERT_TRUE(Erase(table, RowDelete("a", "b")));
    EXPECT_EQ(Read(table), (Rows{{"b", {{"A:x@5", "1"}}}})) << table;
    ASSERT_TRUE(Write(table, "a", 3, {{"A", "x", Value::Int(2)}}));
    AwaitPurge();
    const Rows expected = {{"a", {{"A:x@3", "2"}}}, {"b", {{"A:x@5", "1"}}}};
    EXPECT_EQ(Read(table), expected) << table;
    Reopen();
    EXPECT_EQ(Read(table), expected) << table;
  }
}

TEST_F(StoreTest, ADeleteNarrowsToColumnAndTime) {
  for (const char* table : {"H", "L"}) {
    ASSERT_TRUE(Write(table, "a", 5, {{"A", "x", Value::Int(1)}, {"A", "y", Value::Int(1)}}));
    DeleteSpec what = RowDelete("a", "");
    what.family = *Find(table)->FindFamily("A");
    what.qualifier = "x";
    what.cells = {6, 10};
    ASSERT_TRUE(Erase(table, what));
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:x@5", "1"}, {"A:y@5", "1"}}}})) << table;
    what.cells = {5, 6};
    ASSERT_TRUE(Erase(table, what));
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:y@5", "1"}}}})) << table;
    AwaitPurge();
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:y@5", "1"}}}})) << table;
  }
}

TEST_F(StoreTest, OrderInsideABatchCountsForDeletes) {
  for (const char* table : {"H", "L", "R"}) {
    auto batch = NewBatch();
    Put(batch.get(), table, "a", 5, {{"A", "x", Value::Int(1)}});
    Delete(batch.get(), table, RowDelete("a", "b"));
    Put(batch.get(), table, "a", 4, {{"A", "x", Value::Int(2)}});
    ASSERT_TRUE(Commit(std::move(batch)));
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:x@4", "2"}}}})) << table;
  }
}

TEST_F(StoreTest, FieldsAreRemembered) {
  auto batch = NewBatch();
  batch->AddField("s", "x", 2);
  batch->AddField("s", "x", 4);
  batch->AddField("s", "a", 16);
  ASSERT_TRUE(Commit(std::move(batch)));
  Reopen();
  const std::vector<FieldInfo> fields = store().Fields("s");
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields[0].name, "a");
  EXPECT_EQ(fields[1].name, "x");
  EXPECT_EQ(fields[1].type_bits, 6);
}

TEST_F(StoreTest, ReadsBackwards) {
  for (int i = 0; i < 5; ++i) {
    for (int t = 0; t <= i % 3; ++t) {
      ASSERT_TRUE(Write("H", "r" + std::to_string(i), t, {{"A", "x", Value::Int(i)}}));
    }
  }
  ScanSpec spec;
  Rows forwards = Read("H", spec);
  spec.reverse = true;
  Rows backwards = Read("H", spec);
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(forwards, backwards);
}

TEST_F(StoreTest, ASecondStoreOnTheSamePathIsRefused) {
  prometheus::Registry other;
  LevelDbStoreOptions options;
  options.storage = config();
  options.clock = &clock;
  options.registry = &other;
  const auto second = OpenLevelDbStore(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kConflict) << second.error().message();
}

}  // namespace
}  // namespace tallyd
