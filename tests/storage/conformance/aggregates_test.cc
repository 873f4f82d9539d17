// What is written to a cell of an aggregate family is folded, once, in whatever order it came.
#include <limits>

#include "config/values/aggregate.h"
#include "tests/storage/conformance/conformance.h"

namespace tallyd {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// H with families that merge; none: a plain one.
Schema Merging(std::optional<Aggregate> a, std::optional<Aggregate> b = {}) {
  Schema schema = Conformance::Plain();
  schema.tables[0].families[0].aggregate = a;
  schema.tables[0].families[1].aggregate = b;
  return schema;
}

std::vector<TestCell> Input(int64_t number) { return {{"A", "x", Value::Int(number)}}; }

Rows Sum(const std::string& text, const std::string& time = "5") {
  return {{"a", {{"A:x@" + time, text}}}};
}

DeleteSpec AllOfA() { return {OneRow("a"), {}, {}, {}}; }

TEST_P(Conformance, AnAggregateFamilyFoldsWhatIsWritten) {
  NEEDS_CAPABILITY(aggregates);
  const std::vector<std::pair<Aggregate, std::string>> kinds = {
      {Aggregate::kSum, "75"}, {Aggregate::kMin, "10"}, {Aggregate::kMax, "40"}};
  for (const auto& [kind, text] : kinds) {
    ASSERT_TRUE(Adopt(Merging(kind)));
    for (const int64_t number : {25, 40, 10}) ASSERT_TRUE(Write("H", "a", 5, Input(number)));
    EXPECT_EQ(Read("H"), Sum(text));
    Settle();
    EXPECT_EQ(Read("H"), Sum(text));
    EXPECT_EQ(ReadRuns("H"), Sum(text));
    Reopen();
    EXPECT_EQ(Read("H"), Sum(text));
    ASSERT_TRUE(Erase("H", AllOfA()));
    Settle();
  }
}

TEST_P(Conformance, AnInputCountsOnceWhereverTheOthersAre) {
  NEEDS_CAPABILITY(aggregates);
  ASSERT_TRUE(Adopt(Merging(Aggregate::kSum)));
  for (int64_t n = 1; n <= 40; ++n) {
    ASSERT_TRUE(Write("H", "a", 5, Input(n), n % 3 != 0));
    if (n % 7 == 0) Settle();
    if (n % 11 == 0) Reopen();
    ASSERT_EQ(Read("H"), Sum(std::to_string(n * (n + 1) / 2)));
  }
}

TEST_P(Conformance, TheInputsOfABatchAreFolded) {
  NEEDS_CAPABILITY(aggregates);
  ASSERT_TRUE(Adopt(Merging(Aggregate::kSum, Aggregate::kMax)));
  auto batch = NewBatch();
  for (int64_t n = 1; n <= 1000; ++n) {
    Put(batch.get(), "H", "a", 5, {{"A", "x", Value::Int(n)}, {"B", "y", Value::Int(n)}},
        n % 2 == 0);
  }
  Put(batch.get(), "H", "a", 6, Input(7));
  ASSERT_TRUE(Commit(std::move(batch)));
  const Rows expected = {{"a", {{"A:x@5", "500500"}, {"B:y@5", "1000"}, {"A:x@6", "7"}}}};
  EXPECT_EQ(Read("H"), expected);
  Settle();
  EXPECT_EQ(Read("H"), expected);
}

TEST_P(Conformance, ASumGoesBeyond64BitsAndBack) {
  NEEDS_CAPABILITY(aggregates);
  if (store().capabilities().most_added < kMost) GTEST_SKIP() << "sums are of 64 bits";
  ASSERT_TRUE(Adopt(Merging(Aggregate::kSum)));
  for (const int64_t number : {kMost, kMost, kMost}) {
    ASSERT_TRUE(Write("H", "a", 5, Input(number)));
    Settle();
  }
  for (const int64_t number : {-kMost, -kMost}) ASSERT_TRUE(Write("H", "a", 5, Input(number)));
  EXPECT_EQ(Read("H"), Sum(std::to_string(kMost)));
  Settle();
  EXPECT_EQ(Read("H"), Sum(std::to_string(kMost)));
}

TEST_P(Conformance, ADeleteForgetsTheInputsBeforeItAndNoOther) {
  NEEDS_CAPABILITY(aggregates);
  ASSERT_TRUE(Adopt(Merging(Aggregate::kSum)));
  ASSERT_TRUE(Write("H", "a", 5, Input(1)));
  Settle();
  ASSERT_TRUE(Write("H", "a", 5, Input(2)));
  ASSERT_TRUE(Erase("H", AllOfA()));
  EXPECT_EQ(Read("H"), Rows());
  ASSERT_TRUE(Write("H", "a", 5, Input(10)));
  EXPECT_EQ(Read("H"), Sum("10"));
  Settle();
  ASSERT_TRUE(Write("H", "a", 5, Input(20)));
  EXPECT_EQ(Read("H"), Sum("30"));
  Settle();
  EXPECT_EQ(Read("H"), Sum("30"));
}

TEST_P(Conformance, ADeleteBetweenTheInputsOfABatchForgetsTheEarlier) {
  NEEDS_CAPABILITY(aggregates);
  ASSERT_TRUE(Adopt(Merging(Aggregate::kSum)));
  auto batch = NewBatch();
  Put(batch.get(), "H", "a", 5, Input(1));
  Delete(batch.get(), "H", AllOfA());
  Put(batch.get(), "H", "a", 5, Input(65));
  ASSERT_TRUE(Commit(std::move(batch)));
  EXPECT_EQ(Read("H"), Sum("65"));
  Settle();
  EXPECT_EQ(Read("H"), Sum("65"));
}

TEST_P(Conformance, PlainCellsOfTheSameRowAndTimeAreNotFolded) {
  NEEDS_CAPABILITY(aggregates);
  ASSERT_TRUE(Adopt(Merging(Aggregate::kSum)));
  for (const int64_t n : {1, 2, 3}) {
    ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(n)}, {"B", "y", Value::Int(n)}}));
    if (n == 1) Settle();
  }
  const Rows expected = {{"a", {{"A:x@5", "6"}, {"B:y@5", "3"}}}};
  EXPECT_EQ(Read("H"), expected);
  Settle();
  EXPECT_EQ(Read("H"), expected);
}

TEST_P(Conformance, VersionsOfAnAggregateFamilyCountItsTimes) {
  NEEDS_CAPABILITY(aggregates);
  Schema schema = Merging(Aggregate::kSum);
  schema.tables[0].families[0].max_versions = 1;
  ASSERT_TRUE(Adopt(schema));
  for (const TimeUs time : {5, 5, 6, 6}) ASSERT_TRUE(Write("H", "a", time, Input(10)));
  EXPECT_EQ(Read("H"), Sum("20", "6"));
  Settle();
  EXPECT_EQ(Read("H"), Sum("20", "6"));
  ScanSpec one;
  one.versions = 1;
  EXPECT_EQ(Read("H", one), Sum("20", "6"));
}

TEST_P(Conformance, AnInputAfterTheOthersAreGoneBeginsAnew) {
  NEEDS_CAPABILITY(aggregates);
  Schema schema = Merging(Aggregate::kSum);
  schema.tables[0].families[0].max_versions = 1;
  ASSERT_TRUE(Adopt(schema));
  ASSERT_TRUE(Write("H", "a", 5, Input(65)));
  ASSERT_TRUE(Write("H", "a", 6, Input(1)));
  Settle();
  DeleteSpec newest = AllOfA();
  newest.cells = {6, 7};
  ASSERT_TRUE(Erase("H", newest));
  const Rows left = Read("H");
  EXPECT_TRUE(left == Rows() || left == Sum("65"));
  if (left != Rows()) return;  // A store may still have it.
  ASSERT_TRUE(Write("H", "a", 5, Input(10)));
  EXPECT_EQ(Read("H"), Sum("10"));
}

TEST_P(Conformance, ReadsPartsOfAggregateRows) {
  NEEDS_CAPABILITY(aggregates);
  ASSERT_TRUE(Adopt(Merging(Aggregate::kSum)));
  for (const TimeUs time : {5, 6, 7}) {
    for (const int64_t n : {1, 2}) ASSERT_TRUE(Write("H", "a", time, Input(n * time)));
    if (time == 6) Settle();
  }
  ScanSpec spec;
  spec.cells = {6, 7};
  EXPECT_EQ(Read("H", spec), Sum("18", "6"));
  spec = {};
  spec.versions = 2;
  spec.reverse = true;
  EXPECT_EQ(Read("H", spec), (Rows{{"a", {{"A:x@7", "21"}, {"A:x@6", "18"}}}}));
  spec.versions = 0;
  spec.keys_only = true;
  EXPECT_EQ(Read("H", spec), Sum("21", "7"));
}

TEST_P(Conformance, WhatAFamilyIsMayNotChangeWhileTheTableHoldsData) {
  NEEDS_CAPABILITY(aggregates);
  ASSERT_TRUE(Write("H", "a", 5, Input(1)));
  const Status refused = Adopt(Merging(Aggregate::kSum));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kConflict);
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("plain family"));
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("an aggregate family of sum"));
  Schema more = Conformance::Plain();
  Family added;
  added.name = "C";
  added.aggregate = Aggregate::kMax;
  added.bucket_us = 1000;
  more.tables[0].families.push_back(added);
  ASSERT_TRUE(Adopt(more));
  EXPECT_EQ(Read("H"), Sum("1"));
  for (const std::optional<int64_t> bucket :
       {std::optional<int64_t>(2000), std::optional<int64_t>()}) {
    more.tables[0].families[2].bucket_us = bucket;
    EXPECT_FALSE(Adopt(more));
  }
  ASSERT_TRUE(Erase("H", AllOfA()));
  EXPECT_TRUE(Adopt(Merging(Aggregate::kSum))) << "an empty table may change all of it";
}

}  // namespace
}  // namespace tallyd
