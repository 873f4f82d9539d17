// Events that fall on one cell of a table are found wherever writes meet, and counted once.
#include <gtest/gtest.h>

#include "config/file/config.h"
#include "storage/merge_witness.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

constexpr char kAlone[] = R"(
[tables.A]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:us}"
families.A = {}
)";
constexpr char kBoth[] = R"(
[tables.A]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:us}"
families.A = {}
[tables.B]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{sensor}#{ts:us}"
families.A = {}
)";

class MergedEventsTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    config().seal_delay_us = 3600 * kUsPerSecond;
    Open();
    Adopt(kBoth);
  }

  void Adopt(const char* text) {
    const Result<Config> parsed = ParseConfig(text, "test.toml");
    ASSERT_TRUE(parsed);
    ASSERT_TRUE(StoreHarness::Adopt(*parsed->schema));
  }

  void PutEvent(Batch* batch, TimeUs time, const std::string& sensor, int64_t value,
                bool by_set = true) {
    Put(batch, "A", "h", time,
        {{"A", "sensor", Value::String(sensor)}, {"A", "v", Value::Int(value)}}, by_set);
  }
  void WriteEvent(TimeUs time, const std::string& sensor, int64_t value = 1) {
    auto batch = NewBatch();
    PutEvent(batch.get(), time, sensor, value);
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  void Settle() { ASSERT_TRUE(store().Settle()); }
  MergedEvents Merged() { return MergedIn(store(), *Find("A")); }
  // A scan of v alone.
  void Scan() {
    ScanSpec spec;
    spec.columns = {{"A", "v"}};
    Read("A", spec);
  }
};

TEST_F(MergedEventsTest, AScanMeetsThemBeforeTheyAreSealed) {
  for (const bool by_set : {true, false}) {
    auto batch = NewBatch();
    for (const char* sensor : {"a", "b", "c"}) {
      PutEvent(batch.get(), by_set ? 10 : 20, sensor, 1, by_set);
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  EXPECT_FALSE(Merged().any);
  Scan();
  EXPECT_TRUE(Merged().any);
  EXPECT_EQ(Merged().count, 4u);
  Scan();
  EXPECT_EQ(Merged().count, 4u);
}

TEST_F(MergedEventsTest, ASealCountsWhatNobodyRead) {
  for (const char* sensor : {"a", "b", "c"}) WriteEvent(10, sensor);
  Settle();
  EXPECT_EQ(Merged().count, 2u);
}

TEST_F(MergedEventsTest, WhatAScanMetIsCountedOnceWhenItIsSealed) {
  for (const char* sensor : {"a", "b", "c"}) WriteEvent(10, sensor);
  Scan();
  Settle();
  EXPECT_EQ(Merged().count, 2u);
  Scan();
  EXPECT_EQ(Merged().count, 2u);
}

TEST_F(MergedEventsTest, SoIsWhatLiesInSeveralFiles) {
  for (const char* sensor : {"a", "b", "c"}) {
    WriteEvent(10, sensor);
    WriteEvent(20, sensor);
    Settle();
  }
  EXPECT_EQ(Merged().count, 4u);
}

TEST_F(MergedEventsTest, RunsOfColumnsMeetThemToo) {
  WriteEvent(10, "a");
  WriteEvent(20, "a");
  Settle();
  WriteEvent(10, "b");
  ScanSpec spec;
  spec.columns = {{"A", "v"}};
  ReadRuns("A", spec);
  EXPECT_EQ(Merged().count, 1u);
}

TEST_F(MergedEventsTest, ACorrectionIsNone) {
  for (const int64_t value : {1, 2, 3}) WriteEvent(10, "a", value);
  Scan();
  Settle();
  WriteEvent(10, "a", 4);
  Scan();
  Settle();
  EXPECT_FALSE(Merged().any);
  EXPECT_EQ(Merged().count, 0u);
}

// What a correction of one field left of the older write does not say whose it is.
TEST_F(MergedEventsTest, NorIsACorrectionOfAPart) {
  ASSERT_TRUE(
      Write("A", "h", 10, {{"A", "sensor", Value::String("a")}, {"A", "w", Value::Int(1)}}));
  Settle();
  WriteEvent(10, "a");
  Settle();
  WriteEvent(20, "a");
  Settle();
  Scan();
  EXPECT_FALSE(Merged().any);
}

TEST_F(MergedEventsTest, WhatWasDeletedBetweenIsNone) {
  WriteEvent(10, "a");
  ASSERT_TRUE(Erase("A", RowDelete("h", "i")));
  WriteEvent(10, "b");
  Scan();
  Settle();
  Scan();
  EXPECT_FALSE(Merged().any);
}

TEST_F(MergedEventsTest, ARestartForgetsNothing) {
  for (const char* sensor : {"a", "b"}) WriteEvent(10, sensor);
  Settle();
  for (const char* sensor : {"a", "b"}) WriteEvent(20, sensor);
  Reopen();
  EXPECT_EQ(Merged().count, 1u);
  Scan();
  EXPECT_EQ(Merged().count, 2u);
  Settle();
  Reopen();
  EXPECT_EQ(Merged().count, 2u);
}

TEST_F(MergedEventsTest, WhatAScanMetStaysKnownThoughItIsNotSealed) {
  for (const char* sensor : {"a", "b"}) WriteEvent(10, sensor);
  Scan();
  Settle();  // The sealer has written what the scan met, be it with the seal.
  Reopen();
  EXPECT_TRUE(Merged().any);
}

TEST_F(MergedEventsTest, ATableThatJoinsLaterStillTells) {
  const Result<Config> before = ParseConfig(kAlone, "test.toml");
  const Result<Config> after = ParseConfig(kBoth, "test.toml");
  ASSERT_TRUE(before && after);
  for (const char* second : {"a", "b"}) {
    StoreHarness harness;
    harness.Open();
    ASSERT_TRUE(harness.Adopt(*before->schema));
    int64_t value = 0;
    for (const char* sensor : {"a", second}) {
      ASSERT_TRUE(harness.Write(
          "A", "h", 10, {{"A", "sensor", Value::String(sensor)}, {"A", "v", Value::Int(++value)}}));
    }
    ASSERT_TRUE(harness.store().Settle());
    EXPECT_FALSE(MergedIn(harness.store(), *harness.Find("A")).any);
    ASSERT_TRUE(harness.Adopt(*after->schema));
    EXPECT_EQ(MergedIn(harness.store(), *harness.Find("A")).any, second == std::string("b"));
    EXPECT_EQ(MergedIn(harness.store(), *harness.Find("A")).unknown_before, 0);
  }
}

TEST_F(MergedEventsTest, WhatATableOutsideOfTheFileTellsApartStaysTold) {
  for (const char* sensor : {"a", "b"}) WriteEvent(10, sensor);
  Adopt(kAlone);
  Scan();
  EXPECT_EQ(Merged().count, 1u);
}

}  // namespace
}  // namespace tallyd
