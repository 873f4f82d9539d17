// One value as stored: exact to the bit and the type, and nothing else reads as a value.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

std::string Encode(const Value& value) {
  std::string bytes(MaxValueBytes(value), '\0');
  bytes.resize(static_cast<size_t>(EncodeValue(bytes.data(), value) - bytes.data()));
  return bytes;
}

// Skipping and decoding judge the same, and stand at the same place after it.
bool Decodes(std::string_view bytes, Value* value = nullptr) {
  Value read;
  ByteReader in(bytes);
  const bool good = DecodeValue(&in, &read) && in.done();
  ByteReader skip(bytes);
  if (good) {
    EXPECT_TRUE(SkipValue(&skip) && skip.done());
  }
  if (value != nullptr) *value = read;
  return good;
}

std::string RandomText(std::mt19937_64& random) {
  std::string text(random() % 20, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

Value RandomValue(std::mt19937_64& random, const std::string& text) {
  const auto bits = static_cast<int64_t>(random());
  const auto number = std::bit_cast<double>(bits);
  switch (random() % 8) {
    case 0:
      return Value::Int(bits >> (random() % 64));
    case 1:
      return Value::Decimal(bits % (Value::kMaxMantissa + 1),
                            static_cast<uint8_t>(random() % (Value::kMaxScale + 1)));
    case 2:
      return Value::Double(std::isfinite(number) ? number : -0.0);
    case 3:
      return Value::Bool(bits % 2 == 0);
    case 4:
      return Value::String(text);
    case 5:
      return Value::Bytes(text);
    case 6:
      return Value::Int(bits % 1000);
    default:
      return Value();
  }
}

TEST(ValueCodecTest, ValuesComeBackToTheBitAndTheType) {
  std::mt19937_64 random(20261121);
  for (int i = 0; i < 200'000; ++i) {
    const std::string text = RandomText(random);
    const Value value = RandomValue(random, text);
    const std::string encoded = Encode(value);
    ASSERT_LE(encoded.size(), MaxValueBytes(value));
    Value read;
    ASSERT_TRUE(Decodes(encoded, &read));
    ASSERT_EQ(read, value);
  }
}

TEST(ValueCodecTest, AmongOthersAValueIsSkippedAsItIsRead) {
  std::mt19937_64 random(20261125);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes;
    const size_t values = random() % 30;
    for (size_t v = 0; v < values; ++v) {
      const std::string text = RandomText(random);
      bytes += Encode(RandomValue(random, text));
    }
    bytes += RandomText(random);  // Of this most is no value.
    ByteReader in(bytes);
    ByteReader skip(bytes);
    Value read;
    size_t number = 0;
    for (; DecodeValue(&in, &read); ++number) {
      ASSERT_TRUE(SkipValue(&skip));
      ASSERT_EQ(skip.left(), in.left());
    }
    ASSERT_GE(number, values);
  }
}

TEST(ValueCodecTest, TheLimitsOfTheShortFormsComeBack) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const int64_t n : {kMaxShortInt, kMaxShortInt + 1, -kMaxShortInt, -kMaxShortInt - 1, kMost,
                          -kMost - 1, int64_t{0}}) {
    Value read;
    ASSERT_TRUE(Decodes(Encode(Value::Int(n)), &read));
    EXPECT_EQ(read, Value::Int(n));
  }
  for (const int64_t mantissa : {Value::kMaxMantissa, -Value::kMaxMantissa}) {
    for (const uint8_t scale : {uint8_t{0}, kMaxStoredScale, Value::kMaxScale}) {
      Value read;
      ASSERT_TRUE(Decodes(Encode(Value::Decimal(mantissa, scale)), &read));
      EXPECT_EQ(read, Value::Decimal(mantissa, scale));
    }
  }
}

TEST(ValueCodecTest, TextIsAViewOfWhatIsRead) {
  const std::string bytes = Encode(Value::String("hello"));
  Value read;
  ASSERT_TRUE(Decodes(bytes, &read));
  EXPECT_EQ(read.AsView().data(), bytes.data() + 1);
}

TEST(ValueCodecDamageTest, NoTruncationIsAValue) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    const std::string text = RandomText(random);
    const std::string encoded = Encode(RandomValue(random, text));
    for (size_t cut = 0; cut < encoded.size(); ++cut) {
      ByteReader in(std::string_view(encoded).substr(0, cut));
      ByteReader skip(std::string_view(encoded).substr(0, cut));
      Value read;
      ASSERT_FALSE(DecodeValue(&in, &read));
      ASSERT_FALSE(SkipValue(&skip));
    }
  }
}

std::string Header(uint64_t kind, uint64_t payload) {
  std::string bytes;
  PutVarint(&bytes, payload << kKindBits | kind);
  return bytes;
}

TEST(ValueCodecDamageTest, WhatNoWriterWritesIsMalformed) {
  const std::string eight(8, '\0');
  EXPECT_FALSE(Decodes(Header(kKindInt64, 1) + eight)) << "a payload of what has none";
  EXPECT_FALSE(Decodes(Header(kKindDouble, 1) + eight));
  EXPECT_FALSE(Decodes(Header(kKindTrue, 1)));
  EXPECT_FALSE(Decodes(Header(kKindAbsent, 1)));
  const std::string among_others = Header(kKindAbsent, 1) + eight;
  ByteReader skip(among_others);
  EXPECT_FALSE(SkipValue(&skip));
  EXPECT_FALSE(Decodes(Header(kKindDecimal, ZigZag(Value::kMaxMantissa + 1)))) << "16 digits";
  EXPECT_FALSE(Decodes(Header(kKindDecimal, ZigZag(-Value::kMaxMantissa - 1))));
  EXPECT_FALSE(Decodes(Header(kKindString, ~uint64_t{0} >> kKindBits))) << "longer than what is";
  std::string infinite = Header(kKindDouble, 0);
  PutU64(&infinite, std::bit_cast<uint64_t>(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(Decodes(infinite));
}

TEST(ValueCodecDamageTest, RandomBytesAreErrorsOrValuesButNeverACrash) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200'000; ++i) {
    const std::string bytes = RandomText(random);
    // On the heap and of the exact size, so that a sanitizer sees a read beyond the end.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    Value read;
    if (Decodes({exact.data(), exact.size()}, &read)) ToText(read);
  }
}

}  // namespace
}  // namespace tallyd
