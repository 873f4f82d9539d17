#include "ingest/decode/json_scalar.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

namespace tallyd {
namespace {

// What ReadShortNumber makes of a token, whatever stands behind it: empty if it leaves it to
// others, or reads less.
std::optional<Value> Short(std::string_view token) {
  std::optional<Value> read;
  for (const char behind : {',', '}', ' ', '\n', '"', '\xff'}) {
    std::array<char, 64> buffer;
    buffer.fill('8');
    std::memcpy(buffer.data(), token.data(), token.size());
    buffer[token.size()] = behind;
    Value value;
    const char* const end = ReadShortNumber(buffer.data(), &value);
    if (end != buffer.data() + token.size()) return std::nullopt;
    EXPECT_EQ(value, read.value_or(value)) << token << behind;
    read = value;
  }
  return read;
}

TEST(ReadShortNumberTest, CommonNumbersAreRead) {
  EXPECT_EQ(Short("0"), Value::Int(0));
  EXPECT_EQ(Short("7"), Value::Int(7));
  EXPECT_EQ(Short("-12345678"), Value::Int(-12345678));
  EXPECT_EQ(Short("123456789"), Value::Int(123456789));
  EXPECT_EQ(Short("1426535612045"), Value::Int(1426535612045));
  EXPECT_EQ(Short("-9999999999999999"), Value::Int(-9999999999999999));
  EXPECT_EQ(Short("0.02"), Value::Decimal(2, 2));
  EXPECT_EQ(Short("-12.50"), Value::Decimal(-1250, 2));
  EXPECT_EQ(Short("123456.7"), Value::Decimal(1234567, 1));
  EXPECT_EQ(Short("0.0"), Value::Decimal(0, 1));
  EXPECT_EQ(Short("12345678"), Value::Int(12345678));
  EXPECT_EQ(Short("1.234567"), Value::Decimal(1234567, 6));
  EXPECT_EQ(Short("-1.234567"), Value::Decimal(-1234567, 6));
}

// Of a longer token, which is another number or none, where it stops: before a byte that ends none.
TEST(ReadShortNumberTest, StopsWhereItsCharactersEnd) {
  const auto bytes_of = [](std::string_view text) -> std::optional<size_t> {
    std::string padded(text);
    padded.resize(text.size() + 32, ',');
    Value value;
    const char* const end = ReadShortNumber(padded.data(), &value);
    if (end == nullptr) return std::nullopt;
    return static_cast<size_t>(end - padded.data());
  };
  EXPECT_EQ(bytes_of("1e5"), 1u);
  EXPECT_EQ(bytes_of("-1.5e5"), 4u);
  EXPECT_EQ(bytes_of("12345678.9"), 8u);
  EXPECT_EQ(bytes_of("1.2.3"), 3u);
  EXPECT_EQ(bytes_of("1234567890123456"), 16u);
  EXPECT_EQ(bytes_of("12345678901234567"), std::nullopt);
  EXPECT_EQ(bytes_of("1234567.89"), std::nullopt);
  EXPECT_EQ(bytes_of("1."), std::nullopt);
  EXPECT_EQ(bytes_of("01"), std::nullopt);
}

TEST(ReadShortNumberTest, WhatIsNotPlainIsLeftToOthers) {
  for (const char* token : {"",           "-",          "--1",       "01",
                            "-01",        "00",         "00.5",      ".5",
                            "5.",         "1..2",       "1.2.3",     "1e5",
                            "1E5",        "+1",         "-0.0",      "12345678901234567",
                            "0123456789", "1234567.89", "NaN",       "1x",
                            "1-",         "123456789x", "x23456789", "\xb1",
                            "1/2",        "1:2",        "12345678.9"}) {
    EXPECT_EQ(Short(token), std::nullopt) << token;
  }
}

TEST(ReadShortNumberTest, NeverDisagreesWithTheSlowWay) {
  std::mt19937 random(5);
  constexpr std::string_view kBytes = "0123456789012345678901234567890.-e+ /:\xb0\x1e";
  size_t read = 0;
  for (int round = 0; round < 300'000; ++round) {
    std::string token;
    for (size_t i = 0, n = 1 + random() % 18; i < n; ++i) token += kBytes[random() % kBytes.size()];
    if (random() % 2 == 0) {
      token = std::to_string(static_cast<int>(random() % 2000) - 1000) + "." +
              std::to_string(random() % 1000);
    }
    const std::optional<Value> value = Short(token);
    if (!value) continue;
    ++read;
    const std::optional<Value> slow = ParseNumber(token);
    ASSERT_TRUE(slow.has_value()) << token;
    ASSERT_EQ(*value, *slow) << token;
  }
  EXPECT_GT(read, 100'000u);
}

// What ReadPlainScalar makes of a text, and how many bytes of it; empty if it leaves it to others.
std::optional<std::pair<Value, size_t>> Plain(std::string_view text, std::string* padded) {
  *padded = text;
  padded->append(32, '8');
  Value value;
  const char* const end = ReadPlainScalar(padded->data(), padded->data() + text.size(), &value);
  if (end == nullptr) return std::nullopt;
  return std::pair(value, static_cast<size_t>(end - padded->data()));
}

TEST(ReadPlainScalarTest, ReadsNumbersPlainTextsAndBooleans) {
  std::string text;
  EXPECT_EQ(Plain("-1.5,", &text), std::pair(Value::Decimal(-15, 1), size_t{4}));
  EXPECT_EQ(Plain("\"\",", &text), std::pair(Value::String(""), size_t{2}));
  EXPECT_EQ(Plain("\"eight characters and more\"}", &text),
            std::pair(Value::String("eight characters and more"), size_t{27}));
  EXPECT_EQ(Plain("true}", &text), std::pair(Value::Bool(true), size_t{4}));
  EXPECT_EQ(Plain("false,", &text), std::pair(Value::Bool(false), size_t{5}));
}

TEST(ReadPlainScalarTest, LeavesAllElseToOthers) {
  std::string text;
  for (const char* other : {"null", "{}", "[1]", "tru", "+1,", "/1,", "-,", ".5,", "\"a\\nb\"",
                            "\"a\tb\"", "\"\xc3\xa9\"", "\"open"}) {
    EXPECT_EQ(Plain(other, &text), std::nullopt) << other;
  }
}

TEST(ReadNumberTest, FaultsAreToldApart) {
  Value value;
  EXPECT_EQ(ReadNumber("9223372036854775808", &value), NumberFault::kIntegerTooBig);
  EXPECT_EQ(ReadNumber("1e309", &value), NumberFault::kFloatTooBig);
  EXPECT_EQ(ReadNumber("1e", &value), NumberFault::kMalformed);
  EXPECT_EQ(ReadNumber("-", &value), NumberFault::kMalformed);
}

TEST(UnescapeTest, SaysWhereItFails) {
  std::string out;
  size_t at = 0;
  EXPECT_EQ(Unescape(R"(ab\x)", &out, &at), EscapeFault::kMalformed);
  EXPECT_EQ(at, 2u);
  EXPECT_EQ(Unescape(R"(\ud800 \q)", &out, &at), EscapeFault::kMalformed);
  EXPECT_EQ(at, 7u);
  EXPECT_EQ(Unescape(R"(\n\ud83dx)", &out, &at), EscapeFault::kLoneSurrogate);
  EXPECT_EQ(Unescape("a\\", &out, &at), EscapeFault::kMalformed);
}

}  // namespace
}  // namespace tallyd
