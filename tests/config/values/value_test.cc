#include "config/values/value.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

namespace tallyd {
namespace {

double Parsed(const std::string& token) {
  const std::optional<Value> value = ParseNumber(token);
  EXPECT_TRUE(value.has_value()) << token;
  EXPECT_EQ(value->type(), ValueType::kFloat64) << token;
  return value->AsDouble();
}

// What strtod, which rounds correctly, makes of the token.
void ExpectReadExactly(const std::string& token) {
  const double expected = std::strtod(token.c_str(), nullptr);
  const double got = Parsed(token);
  EXPECT_EQ(std::bit_cast<uint64_t>(expected), std::bit_cast<uint64_t>(got)) << token;
}

struct Spelling {
  const char* name;
  Value value;
  const char* text;
};

class ValueTextTest : public testing::TestWithParam<Spelling> {};

TEST_P(ValueTextTest, IsSpelledPlainly) { EXPECT_EQ(ToText(GetParam().value), GetParam().text); }

// Text is read back as a number, or else as a string.
TEST_P(ValueTextTest, ReadsBackAsWhatItIsOrAsAString) {
  const Value& value = GetParam().value;
  const Value back = ValueFromText(GetParam().text);
  if (value.is_number()) {
    EXPECT_EQ(back, value);
  } else {
    EXPECT_EQ(back, Value::String(GetParam().text));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Values, ValueTextTest,
    testing::Values(
        Spelling{"Zero", Value::Int(0), "0"}, Spelling{"Negative", Value::Int(-7), "-7"},
        Spelling{"LeastInt", Value::Int(INT64_MIN), "-9223372036854775808"},
        Spelling{"GreatestInt", Value::Int(INT64_MAX), "9223372036854775807"},
        Spelling{"FloatZero", Value::Double(0.0), "0.0"},
        Spelling{"DecimalZero", Value::Decimal(0, 0), "0.0"},
        Spelling{"DecimalZeroWithDigits", Value::Decimal(0, 2), "0.0"},
        Spelling{"NegativeZero", Value::Double(-0.0), "-0.0"},
        Spelling{"Hundredths", Value::Decimal(2, 2), "0.02"},
        Spelling{"NegativeDecimal", Value::Decimal(-60055, 2), "-600.55"},
        Spelling{"TrailingZeros", Value::Decimal(60060, 2), "600.6"},
        Spelling{"IntegralDecimal", Value::Decimal(1200, 2), "12.0"},
        Spelling{"IntegralFloat", Value::Double(100000), "100000.0"},
        Spelling{"FifteenDigits", Value::Decimal(999'999'999'999'999, 0), "999999999999999.0"},
        Spelling{"GreatestPlain", Value::Double(9999999999999998.0), "9999999999999998.0"},
        Spelling{"LeastWithExponent", Value::Double(1e16), "1e+16"},
        Spelling{"SmallestPlain", Value::Decimal(1, 4), "0.0001"},
        Spelling{"Small", Value::Decimal(15, 6), "1.5e-05"},
        Spelling{"SmallestScale", Value::Decimal(1, 22), "1e-22"},
        Spelling{"Shortest", Value::Double(0.1 + 0.2), "0.30000000000000004"},
        Spelling{"GreatestFloat", Value::Double(std::numeric_limits<double>::max()),
                 "1.7976931348623157e+308"},
        Spelling{"LeastFloat", Value::Double(5e-324), "5e-324"},
        Spelling{"LongestFloat", Value::Double(-2.2250738585072014e-308),
                 "-2.2250738585072014e-308"},
        Spelling{"True", Value::Bool(true), "true"}, Spelling{"False", Value::Bool(false), "false"},
        Spelling{"Text", Value::String("us-west2"), "us-west2"},
        Spelling{"Empty", Value::String(""), ""}, Spelling{"Bytes", Value::Bytes("\xff"), "\xff"}),
    [](const auto& tested) { return tested.param.name; });

TEST(AppendTextTest, EveryIntegerIsItsDigits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto v = static_cast<int64_t>(random()) >> (random() % 64);
    for (const int64_t each : {v, v - 1, -v})
      EXPECT_EQ(ToText(Value::Int(each)), std::to_string(each));
  }
  int64_t power = 1;
  for (int digits = 1; digits < 19; ++digits, power *= 10) {
    EXPECT_EQ(ToText(Value::Int(power)), std::to_string(power));
    EXPECT_EQ(ToText(Value::Int(power - 1)), std::to_string(power - 1));
  }
  EXPECT_EQ(ToText(Value::Int(INT64_MIN)), std::to_string(INT64_MIN));
}

TEST(AppendTextTest, ADecimalIsSpelledLikeTheDoubleThatItIs) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 50'000; ++i) {
    const auto mantissa = static_cast<int64_t>(random()) >> (14 + random() % 50);
    const auto scale = static_cast<uint8_t>(random() % (Value::kMaxScale + 1));
    if (mantissa > Value::kMaxMantissa || mantissa < -Value::kMaxMantissa) continue;
    const Value decimal = Value::Decimal(mantissa, scale);
    EXPECT_EQ(ToText(decimal), ToText(Value::Double(decimal.AsDouble())))
        << mantissa << " / 10^" << int{scale};
  }
}

TEST(ValueFromTextTest, OnlyAPlainSpellingIsANumber) {
  for (const char* text :
       {"007", "+1", "1.", ".5", "1.50", "1e5", "0x10", "-0", "1e+5", " 1", "1 ", "NaN", "inf", "-",
        "1-2", "9223372036854775808", "1e400", "0000000000000000000000000000000000000001"}) {
    EXPECT_EQ(ValueFromText(text), Value::String(text)) << text;
  }
}

TEST(ValueFromTextTest, ViewsTheText) {
  const std::string text = "server1";
  EXPECT_EQ(ValueFromText(text).AsView().data(), text.data());
}

TEST(ParseNumberTest, IntegersStayIntegers) {
  EXPECT_EQ(ParseNumber("0"), Value::Int(0));
  EXPECT_EQ(ParseNumber("-0"), Value::Int(0));
  EXPECT_EQ(ParseNumber("253453634"), Value::Int(253453634));
  EXPECT_EQ(ParseNumber("9007199254740993"), Value::Int(9007199254740993));
  EXPECT_EQ(ParseNumber("9223372036854775807"), Value::Int(INT64_MAX));
  EXPECT_EQ(ParseNumber("-9223372036854775808"), Value::Int(INT64_MIN));
}

TEST(ParseNumberTest, RefusesWhatIsNoJsonNumber) {
  for (const char* token :
       {"",    "-",   "+1", "01", "-01",   "00",  "1.",       ".1",    "1.e1",  "1e",  "1e+",
        "1e-", "0x1", "1 ", " 1", "1_000", "NaN", "Infinity", "1.2.3", "1e1.5", "--1", "1,5"}) {
    EXPECT_FALSE(ParseNumber(token).has_value()) << token;
  }
}

TEST(ParseNumberTest, RefusesWhatDoesNotFit) {
  for (const char* token :
       {"9223372036854775808", "-9223372036854775809", "99999999999999999999999999", "1e309",
        "-1.8e308", "1e999999999999", "123456789012345678901234567890e300"}) {
    EXPECT_FALSE(ParseNumber(token).has_value()) << token;
  }
}

TEST(ParseNumberTest, ANumberTooSmallIsZero) {
  EXPECT_EQ(ParseNumber("1e-400"), Value::Double(0.0));
  EXPECT_EQ(ParseNumber("-1e-999999999999"), Value::Double(-0.0));
  EXPECT_EQ(ParseNumber("0e999999999999"), Value::Double(0.0));
}

TEST(ParseNumberTest, UpToFifteenDigitsAreHeldAsADecimal) {
  const Value price = *ParseNumber("600.60");
  ASSERT_TRUE(price.is_decimal());
  EXPECT_EQ(price.mantissa(), 6006);
  EXPECT_EQ(price.scale(), 1);
  EXPECT_TRUE(ParseNumber("0.00")->is_decimal());
  EXPECT_TRUE(ParseNumber("123456789012.345")->is_decimal());
  EXPECT_TRUE(ParseNumber("0.1000000000000000")->is_decimal());
  EXPECT_TRUE(ParseNumber("1.5e-3")->is_decimal());
  EXPECT_TRUE(ParseNumber("1e14")->is_decimal());
  EXPECT_FALSE(ParseNumber("1426535612045.123")->is_decimal());
  EXPECT_FALSE(ParseNumber("1e15")->is_decimal());
  EXPECT_FALSE(ParseNumber("1e-23")->is_decimal());
  EXPECT_FALSE(ParseNumber("-0.0")->is_decimal());
}

TEST(ParseNumberTest, ReadsHardCasesExactly) {
  for (const char* token :
       {"2.2250738585072011e-308", "1.7976931348623157e308", "0.1", "9007199254740993.0", "8.5e22",
        "123456789012345678901234567890.5", "0.000000000000000000000000000001", "1.0e23", "4.35",
        "0.500000000000000166533453693773481063544750213623046875", "5e-324", "1e22",
        "999999999999999.0", "9999999999999999.0", "0.0000000000000000000000999999999999999"}) {
    ExpectReadExactly(token);
    ExpectReadExactly(std::string("-") + token);
  }
}

TEST(ParseNumberTest, ReadsRandomDecimalsExactly) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    char token[64];
    const int digits = static_cast<int>(random() % 20);
    const auto number = static_cast<double>(random() % 1'000'000'000) / 7;
    std::snprintf(token, sizeof token, "%.*f", digits, number);
    if (digits > 0) ExpectReadExactly(token);
    std::snprintf(token, sizeof token, "%.*e", digits, number * std::pow(10, digits - 10));
    ExpectReadExactly(token);
  }
}

TEST(ValueTest, RandomDoublesSurviveTheirText) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200'000; ++i) {
    const double v = std::bit_cast<double>(random());
    if (!std::isfinite(v)) continue;
    const Value value = Value::Double(v);
    ASSERT_EQ(ValueFromText(ToText(value)), value) << ToText(value);
  }
}

TEST(ValueTest, RandomDecimalsAreSpelledAsTheirDoublesAre) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200'000; ++i) {
    const auto mantissa = static_cast<int64_t>(
        random() % static_cast<uint64_t>(Value::kMaxMantissa) >> random() % 48);
    const auto scale = static_cast<uint8_t>(random() % (Value::kMaxScale + 1));
    const Value decimal =
        Value::Decimal(random() % 2 == 0 || mantissa == 0 ? mantissa : -mantissa, scale);
    const Value raw = Value::Double(decimal.AsDouble());
    ASSERT_EQ(decimal, raw);
    ASSERT_EQ(ToText(decimal), ToText(raw));
  }
}

TEST(ValueTest, EqualityIsOfTypeAndBits) {
  EXPECT_EQ(Value::Decimal(150, 2), Value::Double(1.5));
  EXPECT_EQ(Value::Decimal(150, 2), Value::Decimal(15, 1));
  EXPECT_NE(Value::Int(1), Value::Double(1.0));
  EXPECT_NE(Value::Int(1), Value::Bool(true));
  EXPECT_NE(Value::Double(0.0), Value::Double(-0.0));
  EXPECT_NE(Value::String("a"), Value::Bytes("a"));
  EXPECT_EQ(Value(), Value());
  EXPECT_NE(Value(), Value::Int(0));
}

TEST(ValueTest, TypesHaveNames) {
  EXPECT_EQ(ToString(ValueType::kNull), "null");
  EXPECT_EQ(ToString(ValueType::kInt64), "int64");
  EXPECT_EQ(ToString(ValueType::kFloat64), "float64");
  EXPECT_EQ(ToString(ValueType::kBool), "bool");
  EXPECT_EQ(ToString(ValueType::kString), "string");
  EXPECT_EQ(ToString(ValueType::kBytes), "bytes");
}

TEST(ValueTest, AnIntegerIsReadAsADoubleOnlyOnDemand) {
  EXPECT_EQ(Value::Int(3).AsDouble(), 3.0);
  EXPECT_EQ(Value::Int(3).AsInt(), 3);
}

}  // namespace
}  // namespace tallyd
