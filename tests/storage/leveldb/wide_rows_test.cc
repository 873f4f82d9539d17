// Rows that have more columns at one time than a block may: they are written over several blocks,
// and read as if they were in one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "storage/blocks/block_limits.h"
#include "storage/leveldb/tools/verify.h"
#include "tests/storage/leveldb/seal/sealer_fixture.h"

namespace tallyd {
namespace {

constexpr TimeUs kHour = 3600 * kUsPerSecond;

class WideRowsTest : public SealerFixture {
 protected:
  static Table SumsOf(const std::string& name) {
    Table table = MakeTable(name);
    table.families[0].aggregate = Aggregate::kSum;
    return table;
  }
  static std::string NameOf(int column) { return fmt::format("user{:06}", column); }
  // Columns [begin, end) of one row and time, as one event.
  static std::vector<TestCell> CellsOf(int begin, int end) {
    std::vector<TestCell> cells;
    for (int i = begin; i < end; ++i) cells.push_back({"A", NameOf(i), Value::Int(i)});
    return cells;
  }
  void ExpectSound() {
    Close();
    VerifyOptions options;
    options.storage = config();
    const Result<VerifyReport> report = VerifyStore(options);
    ASSERT_TRUE(report) << report.error().message();
    for (const Finding& finding : report->findings) {
      ADD_FAILURE() << finding.file << ": " << finding.problem;
    }
    Reopen();
  }
};

TEST_F(WideRowsTest, AnEventOfMoreColumnsThanABlockHasIsReadAfterSealing) {
  constexpr int kColumns = 70'000;
  static_assert(kColumns > kMaxBlockColumns);
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  Put("H", "a", kHour, 1);
  Put("H", "z", kHour, 2);
  ASSERT_TRUE(Write("H", "wide", kHour, CellsOf(0, kColumns), false));
  const Rows before = Read("H");
  ASSERT_EQ(before[1].second.size(), static_cast<size_t>(kColumns));
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(BlockFiles().size(), 1u);
  EXPECT_EQ(Read("H"), before);
  EXPECT_EQ(ReadRuns("H"), before);
  ScanSpec one;
  one.columns = {{"A", NameOf(kColumns - 1)}};
  ASSERT_EQ(Read("H", one).size(), 1u);
  EXPECT_EQ(Read("H", one)[0].second.size(), 1u);
  ASSERT_NO_FATAL_FAILURE(ExpectSound());
  EXPECT_EQ(Read("H"), before);
}

TEST_F(WideRowsTest, SmallEventsThatMakeARowWideAreAllCounted) {
  constexpr int kColumns = 7'000;
  constexpr int kOfEvent = 50;
  set_block_columns(4096);
  config().write_buffer = 8u << 10;
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({SumsOf("S")})));
  for (int begin = 0; begin < kColumns; begin += kOfEvent) {
    // Each meets half of those before it again.
    const int from = std::max(0, begin - kOfEvent / 2);
    ASSERT_TRUE(Write("S", "page", kHour, CellsOf(from, begin + kOfEvent), false));
  }
  const Rows before = Read("S");
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].second.size(), static_cast<size_t>(kColumns));
  ASSERT_TRUE(store().Settle());
  EXPECT_GT(Metric("tallyd_store_sealed_heads_total"), 1);
  EXPECT_EQ(Read("S"), before);
  ASSERT_NO_FATAL_FAILURE(ExpectSound());
  EXPECT_EQ(Read("S"), before);
  // What comes later is folded into it, in whichever block it is.
  ASSERT_TRUE(Write("S", "page", kHour, CellsOf(0, kColumns), false));
  ASSERT_TRUE(store().Settle());
  const Rows after = Read("S");
  ASSERT_EQ(after[0].second.size(), static_cast<size_t>(kColumns));
  const std::string name = "A:" + NameOf(kColumns - 1) + "@" + std::to_string(kHour);
  EXPECT_EQ(after[0].second.at(name), std::to_string(2 * (kColumns - 1)));
  ASSERT_NO_FATAL_FAILURE(ExpectSound());
}

TEST_F(WideRowsTest, LaterWritesAndDeletesReachEachPartOfARow) {
  set_block_columns(16);
  Open();
  ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
  ASSERT_TRUE(Write("H", "wide", kHour, CellsOf(0, 100), false));
  ASSERT_TRUE(Write("H", "wide", 2 * kHour, CellsOf(0, 100), false));
  ASSERT_TRUE(store().Settle());
  ASSERT_TRUE(Write("H", "wide", kHour, {{"A", NameOf(77), Value::Int(-1)}}, false));
  DeleteSpec what;
  what.rows = OneRow("wide");
  what.family = Find("H")->FindFamily("A");
  what.qualifier = NameOf(50);
  ASSERT_TRUE(Erase("H", what));
  const Rows expected = Read("H");
  ASSERT_EQ(expected[0].second.size(), 198u);
  EXPECT_EQ(expected[0].second.at("A:" + NameOf(77) + "@" + std::to_string(kHour)), "-1");
  ASSERT_TRUE(store().Settle());
  EXPECT_EQ(Told("pending_deletes"), 0u);
  EXPECT_EQ(Read("H"), expected);
  EXPECT_EQ(ReadRuns("H"), expected);
  ScanSpec reverse;
  reverse.reverse = true;
  EXPECT_EQ(Read("H", reverse), expected);
  ASSERT_NO_FATAL_FAILURE(ExpectSound());
}

}  // namespace
}  // namespace tallyd
