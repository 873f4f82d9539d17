// The values of one column: exact to the bit and the type, by whatever they have in common.
#include "storage/blocks/column_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "storage/blocks/int_codec.h"

namespace tallyd {
namespace {

using Kind = ColumnData::Kind;

std::string Encode(const std::vector<Value>& values) {
  ColumnBuffer buffer;
  for (const Value& value : values) buffer.Add(value);
  std::string bytes;
  buffer.Encode(&bytes);
  return bytes;
}

// The kind that the values were stored as; they have come back.
Kind RoundTrip(const std::vector<Value>& values) {
  ColumnData data;
  EXPECT_TRUE(DecodeColumn(Encode(values), values.size(), &data));
  EXPECT_EQ(data.size(), values.size());
  for (size_t i = 0; i < std::min(data.size(), values.size()); ++i) {
    EXPECT_EQ(data.At(i), values[i]) << i;
  }
  return data.kind;
}

TEST(ColumnCodecTest, ValuesOfOneTypeHaveAKindOfTheirOwn) {
  EXPECT_EQ(RoundTrip({Value::Int(1), Value::Int(std::numeric_limits<int64_t>::min())}),
            Kind::kInt);
  EXPECT_EQ(RoundTrip({Value::Bool(true), Value::Bool(false)}), Kind::kBool);
  EXPECT_EQ(RoundTrip({Value::Double(-0.0), Value::Double(5e-324)}), Kind::kDouble);
  EXPECT_EQ(RoundTrip({Value::Decimal(25, 1), Value::Decimal(-3, 1)}), Kind::kDecimal);
  EXPECT_EQ(RoundTrip({Value::String("a"), Value::String("")}), Kind::kString);
  EXPECT_EQ(RoundTrip({Value::Bytes("\xff"), Value::Bytes("")}), Kind::kBytes);
}

TEST(ColumnCodecTest, ValuesOfSeveralTypesKeepTheirTypes) {
  EXPECT_EQ(RoundTrip({Value::Int(1), Value::Bool(true), Value::String("1"), Value::Bytes("1"),
                       Value::Decimal(1, 0), Value::Double(1e300)}),
            Kind::kMixed);
}

TEST(ColumnCodecTest, DecimalsAreBroughtToOneScaleWhereThatIsExact) {
  EXPECT_EQ(RoundTrip({Value::Decimal(25, 1), Value::Decimal(3, 0), Value::Decimal(125, 2)}),
            Kind::kDecimal);
  // 15 digits leave no room for another one.
  EXPECT_EQ(RoundTrip({Value::Decimal(Value::kMaxMantissa, 0), Value::Decimal(1, 1)}),
            Kind::kDouble);
  EXPECT_EQ(RoundTrip({Value::Decimal(1, 0), Value::Decimal(1, Value::kMaxScale)}), Kind::kDouble);
}

TEST(ColumnCodecTest, WordsThatRecurAreStoredOnce) {
  std::vector<Value> recurring;
  std::vector<Value> different;
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) texts.push_back("a rather long word " + std::to_string(i * 7919));
  for (size_t i = 0; i < texts.size(); ++i) {
    recurring.push_back(Value::String(texts[i % 4]));
    different.push_back(Value::String(texts[i]));
  }
  EXPECT_EQ(RoundTrip(recurring), Kind::kString);
  EXPECT_EQ(RoundTrip(different), Kind::kString);
  EXPECT_LT(Encode(recurring).size(), 400u);
}

TEST(ColumnCodecTest, ATextLikeTheOneBeforeItCountsAndComesBack) {
  const std::vector<Value> texts = {Value::String("ab"), Value::String("ab"), Value::String(""),
                                    Value::String("ab"), Value::String("ab")};
  EXPECT_EQ(RoundTrip(texts), Kind::kString);
  ColumnBuffer buffer;
  for (const Value& text : texts) buffer.Add(text);
  EXPECT_EQ(buffer.text_bytes(), 8u);
  // Of another type, and with a number between them.
  EXPECT_EQ(RoundTrip({Value::String("ab"), Value::Bytes("ab"), Value::Int(7), Value::Bytes("ab"),
                       Value::String("ab")}),
            Kind::kMixed);
}

// storage/FORMAT.md, Blocks, kind 4: a form, then numbers and text.
TEST(ColumnCodecTest, TextsAreStoredAsTheFormatSays) {
  const std::string kind(1, static_cast<char>(Kind::kString));
  std::string by_dictionary = kind + '\x01';
  PutVarint(&by_dictionary, 2);
  AppendInts(std::vector<int64_t>{2, 0}, &by_dictionary);
  AppendText("ab", &by_dictionary);
  AppendInts(std::vector<int64_t>{0, 0, 1, 0, 0}, &by_dictionary);
  EXPECT_EQ(Encode({Value::String("ab"), Value::String("ab"), Value::String(""),
                    Value::String("ab"), Value::String("ab")}),
            by_dictionary);
  std::string one_by_one = kind + '\0';
  AppendInts(std::vector<int64_t>{2, 2, 1}, &one_by_one);
  AppendText("ababc", &one_by_one);
  EXPECT_EQ(Encode({Value::String("ab"), Value::String("ab"), Value::String("c")}), one_by_one);
}

TEST(ColumnCodecTest, ABufferThatWasClearedRemembersNothing) {
  ColumnBuffer buffer;
  buffer.Add(Value::String("text"));
  buffer.Add(Value::Int(1));
  buffer.Clear();
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_EQ(buffer.text_bytes(), 0u);
  buffer.Add(Value::Int(2));
  std::string bytes;
  buffer.Encode(&bytes);
  EXPECT_EQ(bytes, Encode({Value::Int(2)}));
}

// Values of few kinds, so that columns of one kind and mixed ones both occur. Half of them are the
// one before again, as of rows side by side.
std::vector<Value> RandomColumn(std::mt19937_64& random, std::vector<std::string>* texts) {
  const uint64_t kinds = 1 + random() % 3;
  const uint64_t first = random() % 6;
  texts->assign(64, "");
  for (std::string& text : *texts) text.assign(random() % 9, static_cast<char>(random()));
  std::vector<Value> values;
  for (uint64_t count = 1 + random() % 300; count > 0; --count) {
    if (!values.empty() && random() % 2 == 0) {
      values.push_back(values.back());
      continue;
    }
    const auto bits = static_cast<int64_t>(random());
    const std::string& text = (*texts)[random() % texts->size()];
    const auto number = std::bit_cast<double>(bits);
    const Value by_kind[] = {Value::Int(bits >> (random() % 64)),
                             Value::Decimal(bits % 1'000'000, static_cast<uint8_t>(random() % 4)),
                             Value::Double(std::isfinite(number) ? number : 0.5),
                             Value::Bool(bits % 2 == 0),
                             Value::String(text),
                             Value::Bytes(text)};
    values.push_back(by_kind[(first + random() % kinds) % std::size(by_kind)]);
  }
  return values;
}

TEST(ColumnCodecTest, AnyColumnComesBackWhole) {
  std::mt19937_64 random(1);
  std::vector<std::string> texts;
  for (int round = 0; round < 300; ++round) RoundTrip(RandomColumn(random, &texts));
}

TEST(ColumnCodecTest, ARangeIsWhatItsValuesAreOneByOne) {
  std::mt19937_64 random(2);
  std::vector<std::string> texts;
  std::vector<std::string> other_texts;
  for (int round = 0; round < 300; ++round) {
    const std::vector<Value> values = RandomColumn(random, &texts);
    ColumnData data;
    ASSERT_TRUE(DecodeColumn(Encode(values), values.size(), &data));
    std::vector<Value> expected = RandomColumn(random, &other_texts);
    const size_t begin = random() % values.size();
    const size_t count = random() % (values.size() - begin + 1);
    ColumnBuffer buffer;
    for (const Value& value : expected) buffer.Add(value);
    ColumnBuffer one_by_one = buffer;
    buffer.AddRange(data, begin, count);
    for (size_t i = begin; i < begin + count; ++i) {
      one_by_one.Add(data.At(i));
      expected.push_back(values[i]);
    }
    std::string bytes;
    buffer.Encode(&bytes);
    std::string expected_bytes;
    one_by_one.Encode(&expected_bytes);
    EXPECT_EQ(expected_bytes, bytes);
    EXPECT_EQ(one_by_one.text_bytes(), buffer.text_bytes());
    ColumnData read;
    ASSERT_TRUE(DecodeColumn(bytes, expected.size(), &read));
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(read.At(i), expected[i]);
  }
}

TEST(ColumnCodecDamageTest, AnotherNumberOfValuesIsMalformed) {
  const std::vector<std::vector<Value>> columns = {
      {Value::Int(1), Value::Int(700)},         {Value::Double(0.1), Value::Double(1e300)},
      {Value::String("a"), Value::String("b")}, {Value::Bytes("aa"), Value::Bytes("aa")},
      {Value::Int(1), Value::String("b")},      {Value::Decimal(1, 1), Value::Decimal(200, 1)}};
  ColumnData data;
  for (const std::vector<Value>& values : columns) {
    const std::string bytes = Encode(values);
    EXPECT_FALSE(DecodeColumn(bytes, 300, &data));
    EXPECT_FALSE(DecodeColumn(bytes + "x", 2, &data)) << "nothing may be left over";
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(DecodeColumn(std::string_view(bytes).substr(0, size), 2, &data)) << size;
    }
  }
}

TEST(ColumnCodecDamageTest, NumbersThatNoValueHasAreMalformed) {
  ColumnData data;
  const auto ints = [](Kind kind, std::string_view before, int64_t number) {
    std::string bytes(1, static_cast<char>(kind));
    bytes.append(before);
    AppendInts({&number, 1}, &bytes);
    return bytes;
  };
  EXPECT_TRUE(DecodeColumn(ints(Kind::kBool, "", 1), 1, &data));
  EXPECT_FALSE(DecodeColumn(ints(Kind::kBool, "", 2), 1, &data));
  EXPECT_FALSE(DecodeColumn(ints(Kind::kBool, "", -1), 1, &data));
  EXPECT_TRUE(DecodeColumn(ints(Kind::kDecimal, "\x16", Value::kMaxMantissa), 1, &data));
  EXPECT_FALSE(DecodeColumn(ints(Kind::kDecimal, "\x17", 1), 1, &data)) << "the scale";
  EXPECT_FALSE(DecodeColumn(ints(Kind::kDecimal, "\x01", Value::kMaxMantissa + 1), 1, &data));
  std::string infinite(1, static_cast<char>(Kind::kDouble));
  AppendText(std::string_view("\x7f\xf0\0\0\0\0\0\0", 8), &infinite);
  EXPECT_FALSE(DecodeColumn(infinite, 1, &data)) << "no float is infinite";
  EXPECT_FALSE(DecodeColumn("\x07", 0, &data)) << "a kind that is not";
}

TEST(ColumnCodecDamageTest, DamagedBytesAreErrorsOrValuesButNeverACrash) {
  std::mt19937_64 random(3);
  std::vector<std::string> texts;
  ColumnData data;
  for (int round = 0; round < 5000; ++round) {
    std::vector<Value> values = RandomColumn(random, &texts);
    values.resize(std::min<size_t>(values.size(), 40));
    std::string bytes = Encode(values);
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    // On the heap and of the exact size, so that a sanitizer sees a read beyond the end.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    if (!DecodeColumn({exact.data(), exact.size()}, values.size(), &data)) continue;
    ASSERT_EQ(data.size(), values.size());
    for (size_t i = 0; i < data.size(); ++i) ToText(data.At(i));
  }
}

}  // namespace
}  // namespace tallyd
