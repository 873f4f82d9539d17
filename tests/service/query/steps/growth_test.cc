#include "service/query/steps/growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tallyd {
namespace {

Growth Of(const std::vector<int64_t>& numbers, TimeUs from = 0) {
  Growth growth;
  for (const int64_t number : numbers) EXPECT_TRUE(growth.Add(from++, Value::Int(number)));
  return growth;
}

TEST(GrowthTest, AFallCountsFromZero) {
  EXPECT_EQ(Of({5, 7, 10}).Total(), Value::Int(5));
  EXPECT_EQ(Of({5, 7, 3, 4}).Total(), Value::Int(6));
  EXPECT_EQ(Of({5}).Total(), Value::Int(0));
  EXPECT_TRUE(Growth().Total().is_null());
  EXPECT_TRUE(Growth().PerSecond(1).is_null());
  EXPECT_TRUE(Growth().LastLessFirst().is_null());
}

TEST(GrowthTest, FollowsTheLastValueOfWhatCameBefore) {
  Growth growth = Of({7, 9}, 10);
  growth.Follow(Of({1, 5}));
  EXPECT_EQ(growth.Total(), Value::Int(4));
  EXPECT_EQ(growth.LastLessFirst(), Value::Int(2));
  EXPECT_EQ(growth.PerSecond(500'000), Value::Double(8));
  growth.Follow(Growth());
  EXPECT_EQ(growth.Total(), Value::Int(4));
}

TEST(GrowthTest, IntegersStayExactWhileTheyFit) {
  EXPECT_EQ(Of({1, INT64_MAX}).Total(), Value::Int(INT64_MAX - 1));
  EXPECT_EQ(Of({0, INT64_MAX, 0, INT64_MAX}).Total(), Value::Double(0x1p64));
  EXPECT_EQ(Of({INT64_MIN, INT64_MAX}).LastLessFirst(), Value::Double(0x1p64));
  EXPECT_EQ(Of({9'007'199'254'740'992, 9'007'199'254'740'993}).Total(), Value::Int(1));
}

TEST(GrowthTest, OfFloatsIsAFloat) {
  Growth growth;
  growth.Add(1, Value::Decimal(5, 1));
  EXPECT_EQ(growth.Total(), Value::Double(0));
  growth.Add(2, Value::Int(2));
  EXPECT_EQ(growth.Total(), Value::Double(1.5));
  EXPECT_EQ(growth.LastLessFirst(), Value::Double(1.5));
}

TEST(GrowthTest, StretchesInAnyOrderAreTheWhole) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> numbers;
    for (size_t i = 1 + random() % 30; i > 0; --i) numbers.push_back(random() % 100);
    const Value want = Of(numbers).Total();
    const bool descends = random() % 2 == 0;
    Growth all;
    for (size_t begin = 0; begin < numbers.size();) {
      const size_t end = begin + 1 + random() % (numbers.size() - begin);
      Growth piece;
      for (size_t i = begin; i < end; ++i) {
        const size_t at = descends ? numbers.size() - 1 - i : i;
        ASSERT_TRUE(piece.Add(static_cast<TimeUs>(at), Value::Int(numbers[at])));
      }
      ASSERT_TRUE(all.Absorb(piece));
      begin = end;
    }
    ASSERT_EQ(all.Total(), want);
    ASSERT_EQ(all.LastLessFirst(), Value::Int(numbers.back() - numbers.front()));
  }
}

TEST(GrowthTest, OfOneTimeTheOneAddedLaterIsTheLater) {
  Growth growth = Of({3});
  EXPECT_TRUE(growth.Add(0, Value::Int(8)));
  EXPECT_EQ(growth.Total(), Value::Int(5));
}

TEST(GrowthTest, AValueBetweenTwoThatWereAddedComesTooLate) {
  Growth growth = Of({1});
  EXPECT_TRUE(growth.Add(10, Value::Int(5)));
  EXPECT_FALSE(growth.Add(5, Value::Int(3)));
  EXPECT_FALSE(growth.Absorb(Of({1, 2}, 4)));
  EXPECT_FALSE(growth.Absorb(Of({4, 9}, 10 - 1)));
  EXPECT_EQ(growth.LastLessFirst(), Value::Int(8)) << "the ends are right in any order";
}

}  // namespace
}  // namespace tallyd
