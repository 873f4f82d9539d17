#include "config/schema.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(SchemaTest, CompactNamesAreCapitalsWithoutSpaces) {
  EXPECT_EQ(CompactName("Bid size"), "BIDSIZE");
  EXPECT_EQ(CompactName("CPU/cpu1_usr"), "CPU/CPU1_USR");
  EXPECT_EQ(CompactName("Círculo"), "CíRCULO");
  EXPECT_EQ(CompactName(""), "");
}

TEST(SchemaTest, PatternsHaveTheNamesOfTheFile) {
  EXPECT_EQ(ToString(Pattern::kSingleTimestamp), "single-timestamp");
  EXPECT_EQ(ToString(Pattern::kSingleTimestampSerialized), "single-timestamp-serialized");
  EXPECT_EQ(ToString(Pattern::kNewCell), "new-cell");
  EXPECT_EQ(ToString(Pattern::kNewColumn), "new-column");
  EXPECT_EQ(ToString(Pattern::kLatest), "latest");
}

TEST(SchemaTest, FindsFamiliesByName) {
  Table table;
  table.families.resize(2);
  table.families[0].name = "A";
  table.families[1].name = "B";
  EXPECT_EQ(table.FindFamily("B")->name, "B");
  EXPECT_EQ(table.FindFamily("C"), nullptr);
  EXPECT_EQ(table.FamilyIndex("B"), 1);
  EXPECT_EQ(table.FamilyIndex("C"), -1);
}

}  // namespace
}  // namespace tallyd
