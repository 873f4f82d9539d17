#include "service/query/steps/percentile.h"

#include <gtest/gtest.h>

#include <vector>

namespace tallyd {
namespace {

std::vector<Value> Ints(std::initializer_list<int64_t> numbers) {
  std::vector<Value> values;
  for (const int64_t number : numbers) values.push_back(Value::Int(number));
  return values;
}

TEST(PercentileTest, IsANumberItselfWhereOneHasTheRank) {
  EXPECT_EQ(Percentile(Ints({7}), 50), Value::Int(7));
  EXPECT_EQ(Percentile(Ints({1, 2, 9}), 50), Value::Int(2));
  EXPECT_EQ(Percentile(Ints({INT64_MAX, INT64_MAX}), 99), Value::Int(INT64_MAX));
  EXPECT_TRUE(Percentile({}, 50).is_null());
}

TEST(PercentileTest, LiesOnTheLineBetweenTwoRanks) {
  EXPECT_EQ(Percentile(Ints({1, 2}), 50), Value::Double(1.5));
  EXPECT_EQ(Percentile(Ints({0, 10, 20, 30}), 50), Value::Int(15));
  EXPECT_EQ(Percentile(Ints({0, 100}), 99), Value::Int(99));
  EXPECT_DOUBLE_EQ(Percentile(Ints({1, 2, 3, 4, 5}), 99).AsDouble(), 4.96);
  const std::vector<Value> mixed = {Value::Int(1), Value::Decimal(15, 1)};
  EXPECT_EQ(Percentile(mixed, 50), Value::Double(1.25));
}

TEST(PercentileTest, NumbersAreSortedAsTheNumbersTheyAre) {
  std::vector<Value> numbers = {Value::Int(9'007'199'254'740'993), Value::Double(9007199254740992),
                                Value::Decimal(-5, 1), Value::Int(0)};
  SortNumbers(numbers);
  EXPECT_EQ(numbers[0], Value::Decimal(-5, 1));
  EXPECT_EQ(numbers[1], Value::Int(0));
  EXPECT_EQ(numbers[3], Value::Int(9'007'199'254'740'993));
}

}  // namespace
}  // namespace tallyd
