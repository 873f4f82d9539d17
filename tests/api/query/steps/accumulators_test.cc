#include "api/query/steps/accumulators.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tallyd {
namespace {

// All of them, over values that come one by one, cut into parts that are put together.
class All {
 public:
  explicit All(const std::vector<Value>& values, size_t parts = 1) {
    for (size_t part = 0; part < parts; ++part) {
      Accumulators own = Empty();
      const size_t end = values.size() * (part + 1) / parts;
      for (size_t i = values.size() * part / parts; i < end; ++i) {
        own.Add(0, static_cast<TimeUs>(i), values[i]);
      }
      all_.Absorb(0, own, 0);
    }
    all_.Finish();
  }
  Value Get(Aggregation aggregation) const { return all_.Get(0, aggregation); }
  double Stddev() const { return Get(Aggregation::kStddev).AsDouble(); }

 private:
  static Accumulators Empty() {
    std::vector<Aggregation> all;
    for (size_t i = 0; i < kAggregations.size(); ++i) all.push_back(static_cast<Aggregation>(i));
    Accumulators empty(all);
    empty.Grow(1);
    return empty;
  }

  Accumulators all_ = Empty();
};

std::vector<Value> Ints(std::initializer_list<int64_t> numbers) {
  std::vector<Value> values;
  for (const int64_t number : numbers) values.push_back(Value::Int(number));
  return values;
}

TEST(AccumulatorsTest, OfNothingThereIsNothing) {
  const All all({});
  for (size_t i = 0; i < kAggregations.size(); ++i) {
    EXPECT_TRUE(all.Get(static_cast<Aggregation>(i)).is_null()) << kAggregations[i];
  }
}

TEST(AccumulatorsTest, TextCountsButIsNoNumber) {
  const All all({Value::String("up"), Value::Int(3), Value::Bool(true)});
  EXPECT_EQ(all.Get(Aggregation::kCount).AsInt(), 3);
  EXPECT_EQ(all.Get(Aggregation::kSum).AsInt(), 3);
  EXPECT_EQ(all.Get(Aggregation::kFirst).AsView(), "up");
  EXPECT_EQ(all.Stddev(), 0);
  EXPECT_TRUE(All({Value::String("up")}).Get(Aggregation::kStddev).is_null());
}

TEST(StddevTest, IsThatOfThePopulation) {
  EXPECT_EQ(All(Ints({2, 4, 4, 4, 5, 5, 7, 9})).Stddev(), 2);
  EXPECT_EQ(All(Ints({7})).Stddev(), 0);
  EXPECT_EQ(All(Ints({7, 7, 7})).Stddev(), 0);
  EXPECT_EQ(All({Value::Decimal(150, 2), Value::Double(2.5)}).Stddev(), 0.5);
}

TEST(StddevTest, KeepsItsDigitsFarFromZero) {
  constexpr int64_t kFar = 4'000'000'000'000'000'000;
  EXPECT_DOUBLE_EQ(All(Ints({kFar + 4, kFar + 7, kFar + 13, kFar + 16})).Stddev(), std::sqrt(22.5));
  EXPECT_DOUBLE_EQ(All({Value::Double(1e9 + 4), Value::Double(1e9 + 7), Value::Double(1e9 + 13),
                        Value::Double(1e9 + 16)})
                       .Stddev(),
                   std::sqrt(22.5));
}

TEST(StddevTest, HasRoomForTheGreatestNumbers) {
  constexpr double kMax = std::numeric_limits<double>::max();
  EXPECT_DOUBLE_EQ(All({Value::Double(kMax), Value::Double(-kMax)}).Stddev(), kMax);
  EXPECT_EQ(All(Ints({INT64_MAX, INT64_MIN})).Stddev(), 0x1p63);
}

TEST(StddevTest, PartsPutTogetherAreTheWhole) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    std::vector<Value> values;
    long double sum = 0;
    for (size_t i = 1 + random() % 50; i > 0; --i) {
      values.push_back(Value::Int(1'000'000'000 + random() % 1000));
      sum += static_cast<long double>(values.back().AsInt());
    }
    const long double mean = sum / static_cast<long double>(values.size());
    long double squares = 0;
    for (const Value& value : values) {
      const long double apart = static_cast<long double>(value.AsInt()) - mean;
      squares += apart * apart;
    }
    const auto want =
        static_cast<double>(std::sqrt(squares / static_cast<long double>(values.size())));
    for (const size_t parts : {1u, 2u, 3u, 60u}) {
      ASSERT_NEAR(All(values, parts).Stddev(), want, 1e-9) << parts;
    }
  }
}

}  // namespace
}  // namespace tallyd
