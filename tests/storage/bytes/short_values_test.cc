// Where values are is told as a walk from one to the next tells it, or not at all.
#include "storage/bytes/short_values.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace tallyd {
namespace {

std::string Stored(const std::vector<Value>& values) {
  ByteBuffer stored;
  for (const Value& value : values) {
    stored.Finish(EncodeValue(stored.Reserve(MaxValueBytes(value)), value));
  }
  return std::string(stored.View(0, stored.size()));
}

TEST(ShortValuesTest, NumbersAndAbsentOnesAreFoundWhereAWalkFindsThem) {
  std::mt19937_64 random(20261126);
  for (int round = 0; round < 5000; ++round) {
    std::vector<Value> values(1 + random() % ShortValues::kMost);
    for (Value& value : values) {
      const auto n = static_cast<int64_t>(random() >> (24 + random() % 40)) / 16;
      const auto kind = random() % 4;
      if (kind == 1) value = Value::Int(random() % 2 == 0 ? n : -n);
      if (kind > 1) value = Value::Decimal(n % 1'000'000'000'000, random() % 8);
    }
    const std::string stored = Stored(values);
    const std::vector<char> exact(stored.begin(), stored.end());
    const std::string_view bytes(exact.data(), exact.size());
    ShortValues found;
    ASSERT_TRUE(found.Find(bytes, values.size()));
    ByteReader walk(bytes);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(found.begin(i), bytes.size() - walk.left());
      ASSERT_EQ(found.there() >> i & 1, values[i].is_null() ? 0u : 1u);
      Value read;
      ASSERT_TRUE(DecodeValue(&walk, &read));
      ASSERT_EQ(read, values[i]);
    }
    ASSERT_EQ(found.begin(values.size()), bytes.size());
  }
}

TEST(ShortValuesTest, OtherValuesAreNotFoundAmongThem) {
  const std::vector<Value> others = {
      Value::String(""),        Value::String("text"), Value::Bytes("\x10"),
      Value::Bool(true),        Value::Bool(false),    Value::Double(1e300),
      Value::Int(kMaxShortInt), Value::Int(INT64_MIN), Value::Decimal(1, 9),
  };
  for (const Value& other : others) {
    ShortValues found;
    EXPECT_FALSE(found.Find(Stored({Value::Int(1), other, Value(), Value::Int(2)}), 4));
    EXPECT_FALSE(found.Find(Stored({other}), 1));
  }
}

TEST(ShortValuesTest, MoreOrFewerBytesThanSoManyValuesHaveAreNotFound) {
  const std::string stored = Stored({Value::Int(1), Value::Int(1'000'000), Value(), Value::Int(2)});
  ShortValues found;
  ASSERT_TRUE(found.Find(stored, 4));
  EXPECT_FALSE(found.Find(stored, 3));
  EXPECT_FALSE(found.Find(stored, 5));
  EXPECT_FALSE(found.Find("", 0));
  EXPECT_FALSE(found.Find(stored + "\xb0", 4)) << "the last one goes on";
  for (size_t size = 0; size < stored.size(); ++size) {
    EXPECT_FALSE(found.Find(std::string_view(stored).substr(0, size), 4)) << size;
  }
  EXPECT_FALSE(
      found.Find(std::string(ShortValues::kMost + 1, kAbsentValue), ShortValues::kMost + 1));
}

}  // namespace
}  // namespace tallyd
