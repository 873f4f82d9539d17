// Families' rules hide cells when they are read; what goes for good goes by the retention clock.
#include "tests/storage/conformance/conformance.h"

namespace tallyd {
namespace {

Family Keeping(std::optional<int64_t> max_age, std::optional<uint32_t> max_versions = {},
               bool both = false) {
  Family family;
  family.max_age_us = max_age;
  family.max_versions = max_versions;
  family.expire_by_both = both;
  return family;
}

TEST_P(Conformance, AnExpiredCellIsNotReturned) {
  AdoptRules(Keeping(1000), Keeping(2000));
  clock.now = 10'000;
  ASSERT_TRUE(Write("H", "row", 9500, {{"A", "x", Value::Int(1)}, {"B", "y", Value::Int(2)}}));
  EXPECT_EQ(Read("H"), (Rows{{"row", {{"A:x@9500", "1"}, {"B:y@9500", "2"}}}}));
  clock.Pass(500);
  EXPECT_EQ(Read("H").front().second.size(), 2u) << "as old as it may get";
  clock.Pass(1);
  EXPECT_EQ(Read("H"), (Rows{{"row", {{"B:y@9500", "2"}}}}));
  Settle();
  EXPECT_EQ(Read("H"), (Rows{{"row", {{"B:y@9500", "2"}}}}));
  clock.Pass(1000);
  EXPECT_EQ(Read("H"), Rows());
}

TEST_P(Conformance, TheNewestVersionsOfAColumnStay) {
  AdoptRules(Keeping({}, 2), Keeping({}, 1));
  for (const TimeUs time : {5, 9, 3, 7}) {
    ASSERT_TRUE(Write("H", "a", time, {{"A", "x", Value::Int(time)}, {"B", "y", Value::Int(1)}}));
    Settle();
  }
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"A:x@7", "7"}, {"A:x@9", "9"}, {"B:y@9", "1"}}}}));
  ScanSpec spec;
  spec.cells = {0, 9};
  EXPECT_EQ(Read("H", spec), (Rows{{"a", {{"A:x@7", "7"}}}})) << "newer ones count all the same";
}

TEST_P(Conformance, TwoRulesExpireByEitherOrByBoth) {
  AdoptRules(Keeping(1000, 2), Keeping(1000, 2, true));
  clock.now = 10'000;
  for (const TimeUs time : {8000, 8500, 9900, 9950, 9960}) {
    ASSERT_TRUE(Write("H", "a", time, {{"A", "x", Value::Int(1)}, {"B", "x", Value::Int(1)}}));
  }
  const Rows expected = {{"a",
                          {{"A:x@9950", "1"},
                           {"A:x@9960", "1"},
                           {"B:x@9900", "1"},
                           {"B:x@9950", "1"},
                           {"B:x@9960", "1"}}}};
  EXPECT_EQ(Read("H"), expected);
  Settle();
  EXPECT_EQ(Read("H"), expected);
  clock.Pass(2000);
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"B:x@9950", "1"}, {"B:x@9960", "1"}}}}));
}

TEST_P(Conformance, LatestCellsExpireByAge) {
  Schema schema = Plain();
  for (Table& table : schema.tables) table.families[0].max_age_us = 1000;
  ASSERT_TRUE(Adopt(schema));
  clock.now = 10'000;
  for (const char* table : {"L", "R"}) {
    ASSERT_TRUE(Write(table, "m", 9500, {{"A", "x", Value::Int(1)}, {"B", "y", Value::Int(2)}}));
    EXPECT_EQ(Read(table).front().second.size(), 2u) << table;
  }
  clock.Pass(1000);
  Settle();
  for (const char* table : {"L", "R"}) {
    EXPECT_EQ(Read(table), (Rows{{"m", {{"B:y@9500", "2"}}}})) << table;
  }
}

TEST_P(Conformance, WhatIsKeptLongerFromNowOnIsShown) {
  AdoptRules(Keeping({}, 1));
  AdoptRules(Keeping(1000));
  clock.now = 10'000;
  ASSERT_TRUE(Write("H", "a", 9500, {{"A", "x", Value::Int(1)}}));
  AdoptRules(Keeping({}));
  clock.Pass(1000);
  Settle();
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"A:x@9500", "1"}}}}));
}

TEST_P(Conformance, WhatHasExpiredWhenItIsWrittenIsNotShown) {
  AdoptRules(Keeping(1000));
  clock.now = 10'000;
  ASSERT_TRUE(Write("H", "a", 500, {{"A", "x", Value::Int(1)}, {"B", "y", Value::Int(2)}}));
  EXPECT_EQ(Read("H"), (Rows{{"a", {{"B:y@500", "2"}}}}));
}

constexpr size_t kRows = 100;

// Rows of now, in a table that keeps them for 30 days.
void WriteAgingRows(Conformance* test) {
  test->AdoptRules(Keeping(30 * kUsPerDay), Keeping(30 * kUsPerDay));
  std::vector<std::string> rows;
  for (size_t i = 0; i < kRows; ++i) rows.push_back(std::to_string(i));
  test->WriteRows("H", rows, test->clock.now);
  test->Settle();
}

TEST_P(Conformance, AMomentFortyDaysAheadRemovesNothing) {
  WriteAgingRows(this);
  clock.now += 40 * kUsPerDay;
  clock.Pass(kUsPerSecond / 2);
  Settle();
  EXPECT_EQ(Read("H").size(), 0u) << "reads hide by the wall clock";
  EXPECT_FALSE(store().State().retention.believes_wall);
  clock.now -= 40 * kUsPerDay;
  EXPECT_EQ(Read("H").size(), kRows);
  EXPECT_TRUE(store().State().retention.believes_wall);
}

TEST_P(Conformance, WhatIsWrittenInThatMomentStays) {
  WriteAgingRows(this);
  clock.now += 40 * kUsPerDay;
  ASSERT_TRUE(Write("H", "late", clock.now - 40 * kUsPerDay, {{"A", "x", Value::Int(1)}}));
  Settle();
  clock.now -= 40 * kUsPerDay;
  EXPECT_EQ(Read("H").size(), kRows + 1);
}

TEST_P(Conformance, AStartFortyDaysAheadRemovesNothing) {
  WriteAgingRows(this);
  clock.now += 40 * kUsPerDay;
  for (int start = 0; start < 2; ++start) {
    Reopen();
    Settle();
  }
  clock.now -= 40 * kUsPerDay;
  EXPECT_EQ(Read("H").size(), kRows);
}

TEST_P(Conformance, AJumpThatHoldsForAnHourIsBelieved) {
  WriteAgingRows(this);
  clock.now += 40 * kUsPerDay;
  EXPECT_LT(store().RetentionNow(), clock.now);
  clock.Pass(3601 * kUsPerSecond);
  EXPECT_EQ(store().RetentionNow(), clock.now);
}

TEST_P(Conformance, AnOperatorMayTrustTheClockForGood) {
  NEEDS_CAPABILITY(clock);
  WriteAgingRows(this);
  clock.now += 40 * kUsPerDay;
  ASSERT_TRUE(store().TrustClock());
  EXPECT_EQ(store().RetentionNow(), clock.now);
  Reopen();
  EXPECT_TRUE(store().State().retention.believes_wall);
  EXPECT_EQ(store().RetentionNow(), clock.now);
}

TEST_P(Conformance, TheRetentionClockIsKeptInTheStore) {
  WriteAgingRows(this);
  clock.Pass(10 * kUsPerDay);
  const TimeUs reached = store().State().retention.time;
  EXPECT_EQ(reached, clock.now);
  clock.now -= 20 * kUsPerDay;
  Reopen();
  EXPECT_EQ(store().State().retention.time, reached) << "it never goes back";
  EXPECT_EQ(store().RetentionNow(), clock.now) << "but what it answers is not ahead of the wall";
}

}  // namespace
}  // namespace tallyd
