#include "service/query/steps/accumulators.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
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

std::vector<Aggregation> AnyAggregations(std::mt19937* random) {
  std::vector<Aggregation> some;
  const auto left_out = (*random)() % 4;
  for (size_t i = 0; i < kAggregations.size(); ++i) {
    if (left_out == 0 || (*random)() % 4 == 0) some.push_back(static_cast<Aggregation>(i));
  }
  return some;
}

ColumnData AnyColumn(std::mt19937* random, size_t size) {
  constexpr ColumnData::Kind kKinds[] = {ColumnData::Kind::kInt, ColumnData::Kind::kDecimal,
                                         ColumnData::Kind::kDouble, ColumnData::Kind::kBool};
  ColumnData data;
  data.kind = kKinds[(*random)() % std::size(kKinds)];
  if (data.kind == ColumnData::Kind::kDecimal) {
    data.scale = static_cast<uint8_t>((*random)() % 10);
  }
  const bool is_large = (*random)() % 4 == 0;
  for (size_t i = 0; i < size; ++i) {
    auto number = static_cast<int64_t>((*random)() % 20'001) - 10'000;
    if (is_large && data.kind != ColumnData::Kind::kBool) number *= 99'999'999'999;
    if (is_large && data.kind == ColumnData::Kind::kInt) number *= 9'000;
    if (data.kind == ColumnData::Kind::kBool) number = number > 0 ? 1 : 0;
    data.numbers.push_back(number);
    if (data.kind == ColumnData::Kind::kDouble) {
      data.doubles.push_back(static_cast<double>(number) / 7);
    }
  }
  return data;
}

TEST(AccumulatorsTest, ARunAddsWhatItsValuesAdd) {
  std::mt19937 random(8);
  for (int round = 0; round < 1000; ++round) {
    const std::vector<Aggregation> some = AnyAggregations(&random);
    Accumulators by_runs(some);
    Accumulators by_values(some);
    by_runs.Grow(3);
    by_values.Grow(3);
    TimeUs time = 1000;
    for (auto runs = 1 + random() % 4; runs > 0; --runs) {
      const size_t before = random() % 5;
      const ColumnData data = AnyColumn(&random, before + 1 + random() % 100);
      const bool ascends = random() % 3 > 0;
      std::vector<TimeUs> times;
      RunSteps steps;
      for (size_t i = before; i < data.size(); ++i) {
        if (times.empty() || random() % 20 == 0) {
          steps.indexes.push_back(random() % 3);
          steps.counts.push_back(0);
        }
        ++steps.counts.back();
        time = ascends ? time + 1 + static_cast<TimeUs>(random() % 9)
                       : static_cast<TimeUs>(random() % 2000);
        times.push_back(time);
        by_values.Add(steps.indexes.back(), time, data.At(i));
      }
      by_runs.AddRun(steps, EntryTimes(times), ascends, data, before);
    }
    by_runs.Finish();
    by_values.Finish();
    for (const Aggregation aggregation : some) {
      for (size_t index = 0; index < 3; ++index) {
        ASSERT_EQ(by_runs.Get(index, aggregation), by_values.Get(index, aggregation))
            << kAggregations[static_cast<size_t>(aggregation)] << " in round " << round;
      }
    }
    ASSERT_EQ(by_runs.in_order(), by_values.in_order());
  }
}

TEST(SumTest, OfDecimalsIsExactInAnyOrder) {
  std::vector<Value> tenths(10, Value::Decimal(1, 1));
  EXPECT_EQ(All(tenths).Get(Aggregation::kSum), Value::Double(1.0));
  EXPECT_EQ(All(tenths, 3).Get(Aggregation::kAvg), Value::Double(0.1));
  tenths.push_back(Value::Decimal(900'000'000'000'000, 1));
  tenths.insert(tenths.begin(), Value::Decimal(-900'000'000'000'000, 1));
  EXPECT_EQ(All(tenths).Get(Aggregation::kSum), Value::Double(1.0));
  EXPECT_EQ(All({Value::Int(3), Value::Decimal(1, 7)}).Get(Aggregation::kSum),
            Value::Double(3.0000001));
}

// A column may hold decimals as plain doubles, where another value of it is none.
TEST(SumTest, HowADecimalIsHeldDoesNotShow) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Value> held;
    std::vector<Value> plain;
    const uint64_t digits = random() % 50;
    for (size_t i = 1 + random() % 20; i > 0; --i) {
      const auto mantissa = static_cast<int64_t>(random() >> 14 >> digits) % Value::kMaxMantissa;
      const auto scale = static_cast<uint8_t>(random() % 8);
      held.push_back(Value::Decimal(random() % 2 == 0 ? mantissa : -mantissa, scale));
      plain.push_back(Value::Double(held.back().AsDouble()));
    }
    for (const Aggregation aggregation : {Aggregation::kSum, Aggregation::kAvg}) {
      ASSERT_EQ(All(held).Get(aggregation), All(plain).Get(aggregation));
    }
  }
}

TEST(SumTest, OfFloatsThatAreNoDecimalsIsCompensated) {
  const Value tiny = Value::Double(1e-17);
  EXPECT_EQ(All({Value::Double(1e300), tiny, Value::Double(-1e300)}).Get(Aggregation::kSum), tiny);
  EXPECT_EQ(
      All({Value::Double(1.0 / 3), Value::Int(1), Value::Double(-1.0 / 3)}).Get(Aggregation::kSum),
      Value::Double(1.0));
}

}  // namespace
}  // namespace tallyd
