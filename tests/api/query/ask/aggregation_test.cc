#include "api/query/ask/aggregation.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(AggregationTest, IsReadByTheNameThatItHas) {
  for (const std::string_view name : kAggregations)
    EXPECT_EQ(ToString(*ParseAggregation(name)), name);
  EXPECT_EQ(*ParseAggregation("avg"), Aggregation::kAvg);
  EXPECT_EQ(*ParseAggregation("last"), Aggregation::kLast);
  EXPECT_EQ(*ParseAggregation("stddev"), Aggregation::kStddev);
}

TEST(AggregationTest, AnotherNameIsRefusedWithThoseThatThereAre) {
  const std::string unknown = ParseAggregation("median").error().message();
  EXPECT_NE(unknown.find("'median' is none of avg, min, "), std::string::npos) << unknown;
  const std::string later = ParseAggregation("p99").error().message();
  EXPECT_NE(later.find("does not have 'p99' yet"), std::string::npos) << later;
}

}  // namespace
}  // namespace tallyd
