#include "ingest/points/point_text.h"

#include <gtest/gtest.h>

#include <string>

namespace tallyd {
namespace {

std::string ValueOf(std::string_view text) {
  const std::optional<Value> value = ParsePointValue(text);
  return value ? std::string(ToString(value->type())) + " " + ToText(*value) : "none";
}

int64_t TimeOf(std::string_view text) { return ParsePointTime(text).value_or(-1); }

TEST(PointText, AValueIsAnIntegerOrADecimalInAnySpellingOfJava) {
  EXPECT_EQ(ValueOf("42"), "int64 42");
  EXPECT_EQ(ValueOf("-42"), "int64 -42");
  EXPECT_EQ(ValueOf("+42"), "int64 42");
  EXPECT_EQ(ValueOf("007"), "int64 7");
  EXPECT_EQ(ValueOf("000"), "int64 0");
  EXPECT_EQ(ValueOf("42.5"), "float64 42.5");
  EXPECT_EQ(ValueOf("42.0"), "float64 42.0");
  EXPECT_EQ(ValueOf("5."), "float64 5.0");
  EXPECT_EQ(ValueOf(".5"), "float64 0.5");
  EXPECT_EQ(ValueOf("-.5"), "float64 -0.5");
  EXPECT_EQ(ValueOf("+1e3"), "float64 1000.0");
  EXPECT_EQ(ValueOf("1.E3"), "float64 1000.0");
  EXPECT_EQ(ValueOf("9223372036854775807"), "int64 9223372036854775807");
  EXPECT_EQ(ValueOf("-9223372036854775808"), "int64 -9223372036854775808");
}

TEST(PointText, WhatIsNoNumberIsNone) {
  for (const char* text :
       {"", " ", "-", "+", ".", "-.", "e5", ".e5", "1e", "1e+", "1.2.3", "1 ", " 1", "1,5", "--1",
        "+-1", "0x10", "1f", "1.5d", "NaN", "nan", "Infinity", "-inf", "true", "1e400",
        "9223372036854775808", "-9223372036854775809", "99999999999999999999", "1\n"}) {
    EXPECT_EQ(ValueOf(text), "none") << text;
  }
}

TEST(PointText, ATimeIsSecondsOrBeyondThirtyTwoBitsMilliseconds) {
  EXPECT_EQ(TimeOf("1"), 1'000'000);
  EXPECT_EQ(TimeOf("1356998400"), 1'356'998'400'000'000);
  EXPECT_EQ(TimeOf("4294967295"), 4'294'967'295'000'000);
  EXPECT_EQ(TimeOf("4294967296"), 4'294'967'296'000);
  EXPECT_EQ(TimeOf("1356998400123"), 1'356'998'400'123'000);
  EXPECT_EQ(TimeOf("9999999999999"), 9'999'999'999'999'000);
}

TEST(PointText, ATimeInSecondsMayHaveAFraction) {
  EXPECT_EQ(TimeOf("1356998400.5"), 1'356'998'400'500'000);
  EXPECT_EQ(TimeOf("1356998400.123"), 1'356'998'400'123'000);
  EXPECT_EQ(TimeOf("1356998400.1234567"), 1'356'998'400'123'456);
}

TEST(PointText, WhatIsNoTimeIsNone) {
  for (const char* text :
       {"", "0", "-1", "+1", "0.0", "10000000000000", "99999999999999999999", "1e9", "now",
        "1356998400.", ".5", "1356998400123.5", "1.2.3", "1356998400 ", "2013/01/01"}) {
    EXPECT_EQ(TimeOf(text), -1) << text;
  }
}

}  // namespace
}  // namespace tallyd
