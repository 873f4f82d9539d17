// Scans of a latest table, through the store: in pieces, from both ends, in ranges.
#include "storage/leveldb/read/table_scan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class LatestScanTest : public ::testing::Test, public StoreHarness {
 protected:
  LatestScanTest() {
    Open();
    EXPECT_TRUE(Adopt(MakeSchema({MakeTable("L", Pattern::kLatest)})));
  }

  static std::string KeyOf(int i) { return fmt::format("{:05}", i); }
  void PutRows(int count) {
    auto batch = NewBatch();
    for (int i = 0; i < count; ++i) {
      Put(batch.get(), "L", KeyOf(i), 1000 + i, {{"A", "x", Value::Int(i)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  std::vector<std::string> Keys(const ScanSpec& spec) {
    std::vector<std::string> keys;
    for (const auto& [key, cells] : Read("L", spec)) keys.push_back(key);
    return keys;
  }
  std::vector<std::string> Expected(int begin, int end) {
    std::vector<std::string> keys;
    for (int i = begin; i < end; ++i) keys.push_back(KeyOf(i));
    return keys;
  }
  std::unique_ptr<RowScan> Scan(bool reverse = false) {
    ScanSpec spec;
    spec.reverse = reverse;
    spec.now = clock.Now();
    return store().Scan(Find("L"), spec);
  }
  static std::string Next(RowScan* scan) {
    return scan->Next().value() ? std::string(scan->row().key) : "(end)";
  }
};

TEST_F(LatestScanTest, ManyRowsComeInOrderFromBothEnds) {
  PutRows(2000);
  ScanSpec spec;
  EXPECT_EQ(Keys(spec), Expected(0, 2000));
  spec.reverse = true;
  std::vector<std::string> backwards = Expected(0, 2000);
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(Keys(spec), backwards);
}

TEST_F(LatestScanTest, RangesAndALimitBoundIt) {
  PutRows(200);
  ScanSpec spec;
  spec.ranges = {{KeyOf(10), KeyOf(12)}, {KeyOf(50), KeyOf(53)}, {KeyOf(198), ""}};
  const std::vector<std::string> all = {KeyOf(10), KeyOf(11),  KeyOf(50), KeyOf(51),
                                        KeyOf(52), KeyOf(198), KeyOf(199)};
  EXPECT_EQ(Keys(spec), all);
  spec.limit = 3;
  EXPECT_EQ(Keys(spec), std::vector(all.begin(), all.begin() + 3));
  spec.reverse = true;
  EXPECT_EQ(Keys(spec), (std::vector{KeyOf(199), KeyOf(198), KeyOf(52)}));
}

TEST_F(LatestScanTest, ASkipGoesForwardWithinAChunkAndBeyondIt) {
  PutRows(300);
  const auto scan = Scan();
  EXPECT_EQ(Next(scan.get()), KeyOf(0));
  scan->SkipTo(KeyOf(5));
  EXPECT_EQ(Next(scan.get()), KeyOf(5));
  scan->SkipTo(KeyOf(2));
  EXPECT_EQ(Next(scan.get()), KeyOf(6)) << "never back";
  scan->SkipTo(KeyOf(250) + "x");
  EXPECT_EQ(Next(scan.get()), KeyOf(251));
  scan->SkipTo("x");
  EXPECT_EQ(Next(scan.get()), "(end)");
}

TEST_F(LatestScanTest, BackwardsASkipGoesToTheLastRowAtOrBeforeTheKey) {
  PutRows(300);
  const auto scan = Scan(true);
  EXPECT_EQ(Next(scan.get()), KeyOf(299));
  scan->SkipTo(KeyOf(295));
  EXPECT_EQ(Next(scan.get()), KeyOf(295));
  scan->SkipTo(KeyOf(100) + "x");
  EXPECT_EQ(Next(scan.get()), KeyOf(100));
  scan->SkipTo("");
  EXPECT_EQ(Next(scan.get()), "(end)");
}

TEST_F(LatestScanTest, OfEachColumnTheNewestCellIsReturnedOnly) {
  ASSERT_TRUE(Write("L", "r", 10, {{"A", "x", Value::Int(1)}, {"B", "y", Value::Int(1)}}));
  ASSERT_TRUE(Write("L", "r", 20, {{"A", "x", Value::Int(2)}}));
  ASSERT_TRUE(Write("L", "r", 15, {{"A", "x", Value::Int(3)}})) << "it comes late";
  EXPECT_EQ(Read("L"), (Rows{{"r", {{"A:x@20", "2"}, {"B:y@10", "1"}}}}));
}

TEST_F(LatestScanTest, TheNewestCellOutsideOfTheTimesAskedForHidesOlderOnes) {
  ASSERT_TRUE(Write("L", "r", 10, {{"A", "x", Value::Int(1)}, {"B", "y", Value::Int(1)}}));
  ASSERT_TRUE(Write("L", "r", 20, {{"A", "x", Value::Int(2)}}));
  ScanSpec spec;
  spec.cells = {0, 15};
  EXPECT_EQ(Read("L", spec), (Rows{{"r", {{"B:y@10", "1"}}}}));
}

TEST_F(LatestScanTest, ForKeysTheNewestPartIsEnough) {
  ASSERT_TRUE(Write("L", "r", 10, {{"B", "y", Value::Int(1)}}));
  ASSERT_TRUE(Write("L", "r", 20, {{"A", "x", Value::Int(2)}}));
  ScanSpec spec;
  spec.keys_only = true;
  EXPECT_EQ(Read("L", spec), (Rows{{"r", {{"A:x@20", "2"}}}}));
}

TEST_F(LatestScanTest, OnlyRowsWithAColumnThatIsAskedForAreReturned) {
  ASSERT_TRUE(Write("L", "a", 10, {{"A", "x", Value::Int(1)}}));
  ASSERT_TRUE(Write("L", "b", 10, {{"B", "y", Value::Int(1)}}));
  ScanSpec spec;
  spec.columns = {{"B", "*"}};
  EXPECT_EQ(Keys(spec), std::vector<std::string>{"b"});
  spec.columns = {{"C", "*"}};
  EXPECT_EQ(Keys(spec), std::vector<std::string>{});
}

TEST_F(LatestScanTest, RowsThatChangeMeanwhileComeOnceAndWhole) {
  PutRows(100);
  const auto scan = Scan();
  EXPECT_EQ(Next(scan.get()), KeyOf(0));
  PutRows(400);
  int rows = 1;
  std::string last = KeyOf(0);
  for (std::string key = Next(scan.get()); key != "(end)"; key = Next(scan.get())) {
    EXPECT_LT(last, key);
    last = key;
    ++rows;
  }
  EXPECT_GE(rows, 100);
  EXPECT_LE(rows, 400);
}

}  // namespace
}  // namespace tallyd
