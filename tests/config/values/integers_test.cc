// Integers as a whole: what a plain loop over them says, however many there are.
#include "config/values/integers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace tallyd {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Of all sizes, as their pieces differ by size.
Ints RandomInts(std::mt19937_64& random, size_t count) {
  Ints numbers;
  const uint64_t shift = random() % 64;
  for (size_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<int64_t>(random()) >> shift);
    if (random() % 50 == 0) numbers.back() = random() % 2 == 0 ? kLeast : kMost;
  }
  return numbers;
}

TEST(IntegersTest, SumsAreExact) {
  std::mt19937_64 random(1);
  for (size_t count = 0; count < 300; ++count) {
    const Ints numbers = RandomInts(random, count);
    Int128 sum = 0;
    for (const int64_t number : numbers) sum += number;
    ASSERT_TRUE(SumOf(numbers) == sum) << count;
  }
}

TEST(IntegersTest, SumsOfManyExtremesDoNotOverflow) {
  constexpr size_t kCount = (size_t{1} << 20) + 70'001;
  for (const int64_t number : {kLeast, kMost}) {
    const Ints numbers(kCount, number);
    EXPECT_TRUE(SumOf(numbers) == static_cast<Int128>(kCount) * number);
  }
}

TEST(IntegersTest, ExtremesAreTheLeastAndTheGreatest) {
  std::mt19937_64 random(2);
  for (size_t count = 1; count < 300; ++count) {
    const Ints numbers = RandomInts(random, count);
    const Extremes found = ExtremesOf(numbers);
    ASSERT_EQ(found.least, *std::ranges::min_element(numbers)) << count;
    ASSERT_EQ(found.greatest, *std::ranges::max_element(numbers)) << count;
  }
}

TEST(IntegersTest, OfStretchesEachIsLookedAtByItself) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<uint32_t> counts;
    size_t all = 0;
    for (uint64_t stretches = 1 + random() % 20; stretches > 0; --stretches) {
      all += counts.emplace_back(static_cast<uint32_t>(1 + random() % (1 + round / 10)));
    }
    Ints numbers = RandomInts(random, all);
    std::vector<int64_t> least(counts.size());
    std::vector<int64_t> greatest(counts.size());
    LeastOfEach(numbers, counts, least.data());
    GreatestOfEach(numbers, counts, greatest.data());
    size_t at = 0;
    for (size_t i = 0; i < counts.size(); at += counts[i++]) {
      const Extremes want = ExtremesOf(std::span(numbers).subspan(at, counts[i]));
      ASSERT_EQ(least[i], want.least) << round;
      ASSERT_EQ(greatest[i], want.greatest) << round;
    }
    for (int64_t& number : numbers) number >>= 10;
    counts.insert(counts.begin() + static_cast<std::ptrdiff_t>(random() % counts.size()), 0);
    std::vector<int64_t> sums(counts.size());
    SumEach(numbers, counts, sums.data());
    at = 0;
    for (size_t i = 0; i < counts.size(); at += counts[i++]) {
      ASSERT_EQ(Int128{sums[i]}, SumOf(std::span(numbers).subspan(at, counts[i]))) << round;
    }
  }
}

TEST(IntegersTest, OneBeyondIsSeenWhereverItStands) {
  for (const auto& [least, most] : {std::pair<int64_t, int64_t>{-999, 999}, {0, kMost}, {7, 7}}) {
    for (size_t count = 0; count < 70; ++count) {
      Ints numbers(count, least);
      if (count > 1) numbers.back() = most;
      ASSERT_TRUE(LieWithin(numbers, least, most));
      for (size_t i = 0; i < count; ++i) {
        for (const int64_t beyond : {least - 1, kLeast, kMost}) {
          if (beyond == most) continue;
          const int64_t kept = std::exchange(numbers[i], beyond);
          ASSERT_FALSE(LieWithin(numbers, least, most)) << beyond << " at " << i << " of " << count;
          numbers[i] = kept;
        }
      }
    }
  }
}

TEST(IntegersTest, OneThatDoesNotAscendIsSeenWhereverItStands) {
  for (size_t count = 0; count < 70; ++count) {
    Ints numbers;
    for (size_t i = 0; i < count; ++i) numbers.push_back(static_cast<int64_t>(i) * 3 - 90);
    ASSERT_TRUE(Ascend(numbers)) << count;
    for (size_t i = 1; i < count; ++i) {
      const int64_t kept = std::exchange(numbers[i], numbers[i - 1]);
      ASSERT_FALSE(Ascend(numbers)) << i << " of " << count;
      numbers[i] = kept;
    }
  }
}

TEST(IntegersTest, StretchesAreEven) {
  for (const auto& [first, step] :
       {std::pair<int64_t, int64_t>{0, 0}, {-7, 5}, {kMost, -3}, {kLeast, 1}}) {
    for (size_t count = 0; count < 70; ++count) {
      Ints numbers(count + 1, 42);
      FillEvenly(std::span(numbers).first(count), first, step);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(numbers[i], first + static_cast<int64_t>(i) * step) << i << " of " << count;
      }
      ASSERT_EQ(numbers.back(), 42) << "beyond " << count;
    }
  }
}

TEST(IntegersTest, SumsOfFewAreExactWhereTheyAreNoInt64) {
  EXPECT_EQ(SumOf(Ints{kMost, 1}), Int128{kMost} + 1);
  EXPECT_EQ(SumOf(Ints{kLeast, -1, 1}), Int128{kLeast});
  EXPECT_EQ(SumOf(Ints{kMost, kMost, kLeast, kLeast}), Int128{-2});
}

TEST(IntegersTest, ProductsAreThose) {
  std::mt19937_64 random(3);
  for (const int64_t factor : {int64_t{1}, int64_t{1000}, int64_t{1'000'000}}) {
    for (size_t count = 0; count < 70; ++count) {
      Ints numbers;
      for (size_t i = 0; i < count; ++i) {
        numbers.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(kMost / factor)));
      }
      Ints products = numbers;
      MultiplyAll(products, factor);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(products[i], numbers[i] * factor) << count;
    }
  }
}

}  // namespace
}  // namespace tallyd
