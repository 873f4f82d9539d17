#include "service/query/steps/fill_gaps.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tallyd {
namespace {

std::string Filled(Fill fill, std::vector<Value> values) {
  FillGaps(fill, values);
  std::string text;
  for (const Value& value : values) {
    if (!text.empty()) text += " ";
    text += value.is_null() ? "null" : ToText(value);
  }
  return text;
}

const Value kNone;

TEST(FillGapsTest, PreviousIsTheNearestValueBefore) {
  EXPECT_EQ(
      Filled(Fill::kPrevious, {kNone, Value::Int(1), kNone, kNone, Value::String("up"), kNone}),
      "null 1 1 1 up up");
}

TEST(FillGapsTest, LinearIsOnTheLineBetweenBothNeighbours) {
  EXPECT_EQ(Filled(Fill::kLinear, {kNone, Value::Int(1), kNone, kNone, Value::Int(4), kNone}),
            "null 1 2 3 4 null");
  EXPECT_EQ(Filled(Fill::kLinear, {Value::Int(1), kNone, Value::Int(2)}), "1 1.5 2");
  EXPECT_EQ(Filled(Fill::kLinear, {Value::Decimal(5, 1), kNone, Value::Int(1)}), "0.5 0.75 1");
  EXPECT_EQ(Filled(Fill::kLinear, {Value::Int(INT64_MIN), kNone, Value::Int(INT64_MAX)}),
            "-9223372036854775808 -0.5 9223372036854775807");
}

TEST(FillGapsTest, ThereIsNoLineToText) {
  EXPECT_EQ(Filled(Fill::kLinear, {Value::Int(1), kNone, Value::String("a"), kNone, Value::Int(3),
                                   kNone, Value::Int(5)}),
            "1 null a null 3 4 5");
}

TEST(FillGapsTest, ZeroAndNullAreWhatTheyAre) {
  EXPECT_EQ(Filled(Fill::kZero, {kNone, Value::Decimal(5, 1), kNone}), "0 0.5 0");
  EXPECT_EQ(Filled(Fill::kNull, {kNone, Value::Int(5), kNone}), "null 5 null");
  EXPECT_EQ(Filled(Fill::kPrevious, {}), "");
  EXPECT_EQ(Filled(Fill::kLinear, {}), "");
}

}  // namespace
}  // namespace tallyd
