// A delete forgets what was committed before it, as far as it is told, and nothing later.
#include "tests/storage/conformance/conformance.h"

namespace tallyd {
namespace {

using ::testing::ElementsAre;

constexpr const char* kTables[] = {"H", "L", "R"};

TEST_P(Conformance, ADeleteForgetsWhatWasAndNothingLater) {
  for (const char* table : kTables) {
    WriteRows(table, {"a", "b"}, 5);
    ASSERT_TRUE(Erase(table, RowDelete("a", "b")));
    EXPECT_EQ(Read(table), (Rows{{"b", {{"A:x@5", "1"}}}})) << table;
    ASSERT_TRUE(Write(table, "a", 3, {{"A", "x", Value::Int(2)}}));
    const Rows expected = {{"a", {{"A:x@3", "2"}}}, {"b", {{"A:x@5", "1"}}}};
    EXPECT_EQ(Read(table), expected) << table;
    Settle();
    EXPECT_EQ(Read(table), expected) << table;
    Reopen();
    EXPECT_EQ(Read(table), expected) << table;
  }
}

TEST_P(Conformance, ADeleteTakesAPrefix) {
  for (const char* table : kTables) {
    WriteRows(table, {"a", "a#1", "a#2", "ab", "b"});
    Settle();
    DeleteSpec what;
    what.rows = PrefixRange("a#");
    ASSERT_TRUE(Erase(table, what));
    EXPECT_THAT(Keys(table, {}), ElementsAre("a", "ab", "b")) << table;
    Settle();
    EXPECT_THAT(Keys(table, {}), ElementsAre("a", "ab", "b")) << table;
  }
}

TEST_P(Conformance, ADeleteOfEverythingEmptiesTheTableAlone) {
  for (const char* table : kTables) WriteRows(table, {"a", "b"});
  for (const char* table : kTables) {
    ASSERT_TRUE(Erase(table, DeleteSpec{}));
    EXPECT_EQ(Read(table), Rows()) << table;
    WriteRows(table, {"c"});
  }
  Settle();
  for (const char* table : kTables) EXPECT_THAT(Keys(table, {}), ElementsAre("c")) << table;
}

TEST_P(Conformance, ADeleteNarrowsToTimes) {
  for (const TimeUs time : {3, 5, 7}) {
    ASSERT_TRUE(Write("H", "a", time, {{"A", "x", Value::Int(time)}, {"B", "y", Value::Int(0)}}));
  }
  DeleteSpec what;
  what.cells = {4, 7};
  ASSERT_TRUE(Erase("H", what));
  const Rows expected = {{"a", {{"A:x@3", "3"}, {"A:x@7", "7"}, {"B:y@3", "0"}, {"B:y@7", "0"}}}};
  EXPECT_EQ(Read("H"), expected);
  Settle();
  EXPECT_EQ(Read("H"), expected);
  Reopen();
  EXPECT_EQ(Read("H"), expected);
}

TEST_P(Conformance, ADeleteNarrowsToColumnAndTime) {
  for (const char* table : kTables) {
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
    Settle();
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:y@5", "1"}}}})) << table;
  }
}

TEST_P(Conformance, ADeleteNarrowsToAFamily) {
  for (const char* table : kTables) {
    ASSERT_TRUE(Write(table, "a", 5, {{"A", "x", Value::Int(1)}, {"B", "x", Value::Int(2)}}));
    ASSERT_TRUE(Write(table, "b", 5, {{"A", "x", Value::Int(3)}}));
    DeleteSpec what;
    what.family = *Find(table)->FindFamily("A");
    ASSERT_TRUE(Erase(table, what));
    EXPECT_EQ(Read(table), (Rows{{"a", {{"B:x@5", "2"}}}})) << table;
  }
}

TEST_P(Conformance, OrderInsideABatchCountsForDeletes) {
  for (const char* table : kTables) {
    auto batch = NewBatch();
    Put(batch.get(), table, "a", 5, {{"A", "x", Value::Int(1)}});
    Delete(batch.get(), table, RowDelete("a", "b"));
    Put(batch.get(), table, "a", 4, {{"A", "x", Value::Int(2)}});
    ASSERT_TRUE(Commit(std::move(batch)));
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:x@4", "2"}}}})) << table;
    Settle();
    EXPECT_EQ(Read(table), (Rows{{"a", {{"A:x@4", "2"}}}})) << table;
  }
}

TEST_P(Conformance, LatestRowsDeletedOneByOneStayDeleted) {
  WriteRows("L", {"a", "b", "c"});
  ASSERT_TRUE(Erase("L", RowDelete("a", "b")));
  ASSERT_TRUE(Erase("L", RowDelete("b", "c")));
  Reopen();
  EXPECT_EQ(Read("L"), (Rows{{"c", {{"A:x@5", "1"}}}}));
}

TEST_P(Conformance, AnOlderCellTakesThePlaceOfADeletedLatestOne) {
  for (const char* table : {"L", "R"}) {
    ASSERT_TRUE(Write(table, "m", 9, {{"A", "x", Value::Int(1)}}));
    DeleteSpec what;
    what.cells = {9, 10};
    ASSERT_TRUE(Erase(table, what));
    EXPECT_EQ(Read(table), Rows()) << table;
    ASSERT_TRUE(Write(table, "m", 5, {{"A", "x", Value::Int(2)}}));
    EXPECT_EQ(Read(table), (Rows{{"m", {{"A:x@5", "2"}}}})) << table;
  }
}

TEST_P(Conformance, ADeletedCellCountsAsNoVersion) {
  Family two;
  two.max_versions = 2;
  AdoptRules(two);
  for (const TimeUs time : {3, 5}) {
    ASSERT_TRUE(Write("H", "a", time, {{"A", "x", Value::Int(time)}}));
  }
  DeleteSpec what;
  what.cells = {5, 6};
  ASSERT_TRUE(Erase("H", what));
  ASSERT_TRUE(Write("H", "a", 7, {{"A", "x", Value::Int(7)}}));
  const Rows expected = {{"a", {{"A:x@3", "3"}, {"A:x@7", "7"}}}};
  EXPECT_EQ(Read("H"), expected);
  Settle();
  EXPECT_EQ(Read("H"), expected);
}

// What is put in place of what the same batch deletes is never seen beside it.
TEST_P(Conformance, ManyDeletesLeaveWhatTheyShould) {
  for (int round = 0; round < 100; ++round) {
    auto batch = NewBatch();
    Delete(batch.get(), "H", RowDelete("r", "s"));
    for (const char* row : {"r1", "r2", "r3"}) {
      Put(batch.get(), "H", row, round % 5, {{"A", "g", Value::Int(round)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
    if (round % 30 == 7) Settle();
    const std::string cell = "A:g@" + std::to_string(round % 5);
    for (const auto& [row, cells] : Read("H")) {
      ASSERT_EQ(cells, (Cells{{cell, std::to_string(round)}})) << row;
    }
  }
  EXPECT_THAT(Keys("H", {}), ElementsAre("r1", "r2", "r3"));
}

}  // namespace
}  // namespace tallyd
