#include "service/query/ask/aggregation.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(AggregationTest, IsReadByTheNameThatItHas) {
  for (const std::string_view name : kAggregations)
    EXPECT_EQ(ToString(*ParseAggregation(name)), name);
  EXPECT_EQ(*ParseAggregation("avg"), Aggregation::kAvg);
  EXPECT_EQ(*ParseAggregation("last"), Aggregation::kLast);
  EXPECT_EQ(*ParseAggregation("stddev"), Aggregation::kStddev);
  EXPECT_EQ(*ParseAggregation("p99"), Aggregation::kP99);
}

TEST(AggregationTest, AnotherNameIsRefusedWithThoseThatThereAre) {
  const std::string unknown = ParseAggregation("median").error().message();
  EXPECT_NE(unknown.find("'median' is none of avg, min, "), std::string::npos) << unknown;
  EXPECT_NE(unknown.find(", p50, p99"), std::string::npos) << unknown;
}

}  // namespace
}  // namespace tallyd
