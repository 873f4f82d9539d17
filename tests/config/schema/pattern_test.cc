#include "config/schema/pattern.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(PatternTest, HasTheNameOfTheFile) {
  EXPECT_EQ(ToString(Pattern::kSingleTimestamp), "single-timestamp");
  EXPECT_EQ(ToString(Pattern::kSingleTimestampSerialized), "single-timestamp-serialized");
  EXPECT_EQ(ToString(Pattern::kNewCell), "new-cell");
  EXPECT_EQ(ToString(Pattern::kNewCellSerialized), "new-cell-serialized");
  EXPECT_EQ(ToString(Pattern::kNewColumn), "new-column");
  EXPECT_EQ(ToString(Pattern::kLatest), "latest");
  EXPECT_EQ(ToString(Pattern::kAggregate), "aggregate");
}

TEST(PatternTest, EachStandsInTheListOnce) {
  for (const PatternInfo& info : Patterns()) EXPECT_EQ(&InfoOf(info.pattern), &info) << info.name;
}

TEST(PatternTest, ASerializedOneWritesItsCellUnderAConstantName) {
  for (const PatternInfo& info : Patterns()) {
    const bool serialized = info.serialize != Serialization::kNone;
    EXPECT_EQ(info.rule_name == kBlobName, serialized) << info.name;
    EXPECT_EQ(info.rule_name.find('{') == std::string_view::npos, serialized) << info.name;
  }
}

}  // namespace
}  // namespace tallyd
