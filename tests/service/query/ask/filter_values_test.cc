#include "service/query/ask/filter_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/values/value.h"
#include "storage/store.h"

namespace tallyd {
namespace {

using ::testing::ElementsAre;

constexpr uint8_t kInt = TypeBit(ValueType::kInt64);
constexpr uint8_t kFloat = TypeBit(ValueType::kFloat64);
constexpr uint8_t kBool = TypeBit(ValueType::kBool);
constexpr uint8_t kString = TypeBit(ValueType::kString);

std::vector<std::string> Texts(uint8_t types, const std::string& asked, bool padded = false) {
  const auto texts = TextsOf({"n", types, padded}, asked);
  return texts ? *texts : std::vector<std::string>{"refused: " + texts.error().message()};
}

TEST(FilterValuesTest, ANumberIsFoundHoweverItIsSpelt) {
  for (const char* spelt : {"987654", "0987654", "+987654", "987654.0", "987654.", "9.87654e5"}) {
    EXPECT_THAT(Texts(kInt, spelt), ElementsAre("987654")) << spelt;
  }
  for (const char* spelt : {"0.5", "0.50", ".5", "00.5", "5e-1"}) {
    EXPECT_THAT(Texts(kFloat, spelt), ElementsAre("0.5")) << spelt;
  }
  EXPECT_THAT(Texts(kInt, "-007"), ElementsAre("-7"));
  EXPECT_THAT(Texts(kInt, "000"), ElementsAre("0"));
  EXPECT_THAT(Texts(kFloat, "5"), ElementsAre("5.0"));
  EXPECT_THAT(Texts(kInt | kFloat, "5"), ElementsAre("5", "5.0"));
}

TEST(FilterValuesTest, NoNumberIsTakenForOneBesideIt) {
  EXPECT_THAT(Texts(kInt | kFloat, "9007199254740993"), ElementsAre("9007199254740993"));
  EXPECT_THAT(Texts(kInt | kFloat, "9007199254740992"),
              ElementsAre("9007199254740992", "9007199254740992.0"));
  EXPECT_THAT(Texts(kInt | kFloat, "-9007199254740993"), ElementsAre("-9007199254740993"));
  EXPECT_THAT(Texts(kInt | kFloat, "9223372036854775807"), ElementsAre("9223372036854775807"));
  EXPECT_THAT(Texts(kFloat, "9223372036854775807"), ElementsAre("9223372036854775807"))
      << "nothing is found";
}

TEST(FilterValuesTest, ANumberOfAnySizeIsFoundByItsValue) {
  EXPECT_THAT(Texts(kInt, "1e18"), ElementsAre("1000000000000000000"));
  EXPECT_THAT(Texts(kInt, "123456789012345678.0"), ElementsAre("123456789012345678"));
  EXPECT_THAT(Texts(kInt, "-9223372036854775808.0"), ElementsAre("-9223372036854775808"));
  EXPECT_THAT(Texts(kFloat, "9223372036854775808"),
              ElementsAre(ToText(Value::Double(9223372036854775808.0))));
  EXPECT_THAT(Texts(kFloat, "4.611686018427388e+18"), ElementsAre("4.611686018427388e+18"));
  EXPECT_THAT(Texts(kInt, "9223372036854775808"), ElementsAre("9223372036854775808"))
      << "nothing is found";
}

TEST(FilterValuesTest, ZeroIsZeroWhateverItsSign) {
  for (const char* zero : {"0", "-0", "0.0", "-0.0"}) {
    EXPECT_THAT(Texts(kInt | kFloat, zero), ElementsAre("0", "0.0", "-0.0")) << zero;
  }
}

TEST(FilterValuesTest, AStringIsFoundByItsText) {
  EXPECT_THAT(Texts(kString, "0987"), ElementsAre("0987"));
  EXPECT_THAT(Texts(kString | kInt, "0987"), ElementsAre("0987", "987"));
  EXPECT_THAT(Texts(kString, "0987", true), ElementsAre("0987", "987"));
  EXPECT_THAT(Texts(0, "0.50"), ElementsAre("0.50"));
  EXPECT_THAT(Texts(kString, "-"), ElementsAre("-"));
}

TEST(FilterValuesTest, WhatTheFieldNeverWasIsRefused) {
  EXPECT_THAT(Texts(kInt, "abc").at(0), ::testing::HasSubstr("'abc' is no number"));
  EXPECT_THAT(Texts(kBool, "1").at(0), ::testing::HasSubstr("'1' is no bool"));
  EXPECT_THAT(Texts(kBool | kFloat, "yes").at(0), ::testing::HasSubstr("no number or bool"));
  for (const char* none : {"", "-", "+", ".", "1.2.3", "0x1", "1e", "--1"}) {
    EXPECT_THAT(Texts(kInt, none).at(0), ::testing::HasSubstr("refused")) << none;
  }
  EXPECT_THAT(Texts(kInt, "0.5"), ElementsAre("0.5")) << "nothing is found";
  EXPECT_THAT(Texts(kBool, "true"), ElementsAre("true"));
}

}  // namespace
}  // namespace tallyd
