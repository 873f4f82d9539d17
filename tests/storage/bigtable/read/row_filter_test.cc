#include "storage/bigtable/read/row_filter.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TableInfo TwoFamilies(TableMode mode = TableMode::kHistory) {
  TableInfo table;
  table.mode = mode;
  for (const char* name : {"A", "B"}) {
    StoredFamily& family = table.families.emplace_back();
    family.name = name;
    family.configured = true;
  }
  table.family_rank = {0, 1};
  return table;
}

TEST(RowFilter, IsNoneWhereEverythingIsWanted) {
  EXPECT_FALSE(FilterOf(TwoFamilies(), {}, kUsPerMs));
}

TEST(RowFilter, MatchesWhatAGlobMatches) {
  EXPECT_EQ(RegexOfGlob("CPU*"), "CPU\\C*");
  EXPECT_EQ(RegexOfGlob("a?b"), "a\\Cb");
  EXPECT_EQ(RegexOfGlob("DISK/IO (1)"), "DISK\\/IO\\x20\\(1\\)");
  EXPECT_EQ(RegexOfGlob(std::string_view("\0\n", 2)), "\\x00\\x0a");
}

TEST(RowFilter, LetsACellThroughOnceWhateverPatternsWantIt) {
  ScanSpec spec;
  spec.columns = {{"A", "x"}, {"*", "x*"}, {"A", "y"}};
  const auto filter = FilterOf(TwoFamilies(), spec, kUsPerMs);
  ASSERT_TRUE(filter);
  ASSERT_EQ(filter->interleave().filters_size(), 2) << "a branch for each family";
  EXPECT_EQ(filter->interleave().filters(0).chain().filters(1).column_qualifier_regex_filter(),
            "x|x\\C*|y");
}

TEST(RowFilter, BoundsTimesByWhatTheyAreMultiplesOf) {
  ScanSpec spec;
  spec.cells = {1'500, 3'001};
  const auto filter = FilterOf(TwoFamilies(), spec, kUsPerMs);
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->timestamp_range_filter().start_timestamp_micros(), 2'000);
  EXPECT_EQ(filter->timestamp_range_filter().end_timestamp_micros(), 4'000);
}

TEST(RowFilter, LeavesOutNoNewerCellByWhichAnOlderOneIsHidden) {
  TableInfo table = TwoFamilies();
  table.families[0].rules.max_versions = 2;
  table.families[1].rules.max_versions = 5;
  ScanSpec spec;
  spec.cells = {1'000, 3'000};
  const auto filter = FilterOf(table, spec, kUsPerMs);
  ASSERT_TRUE(filter);
  ASSERT_EQ(filter->chain().filters_size(), 2);
  EXPECT_EQ(filter->chain().filters(0).cells_per_column_limit_filter(), 5);
  EXPECT_EQ(filter->chain().filters(1).timestamp_range_filter().end_timestamp_micros(), 0);
}

TEST(RowFilter, OfLatestCellsTakesTheNewestBeforeItLooksAtTimes) {
  ScanSpec spec;
  spec.cells = {1'000, 3'000};
  const auto filter = FilterOf(TwoFamilies(TableMode::kLatestCell), spec, kUsPerMs);
  ASSERT_TRUE(filter);
  ASSERT_EQ(filter->chain().filters_size(), 2);
  EXPECT_EQ(filter->chain().filters(0).cells_per_column_limit_filter(), 1);
  EXPECT_EQ(filter->chain().filters(1).timestamp_range_filter().end_timestamp_micros(), 3'000);
}

TEST(RowFilter, OfLatestRowsTakesAllColumns) {
  ScanSpec spec;
  spec.columns = {{"A", "x"}};
  const auto filter = FilterOf(TwoFamilies(TableMode::kLatestRow), spec, kUsPerMs);
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->cells_per_column_limit_filter(), 1);
}

}  // namespace
}  // namespace tallyd
