#include "config/values/digits.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

namespace tallyd {
namespace {

void ExpectDigits(uint64_t value) {
  const std::string digits = std::to_string(value);
  EXPECT_EQ(CountDigits(value), digits.size());
  std::string text = "x";
  AppendNumber(value, &text);
  EXPECT_EQ(text, "x" + digits);
  for (const size_t more : {0, 1, 5, 12}) {
    text = "x";
    AppendDigits(value, digits.size() + more, &text);
    EXPECT_EQ(text, "x" + std::string(more, '0') + digits);
    EXPECT_TRUE(AreLastDigits(text.substr(1), value));
    text[1] = text[1] == '9' ? '8' : '9';
    EXPECT_FALSE(AreLastDigits(text.substr(1), value));
  }
  for (size_t count = 0; count <= digits.size(); ++count) {
    std::string last(count, '?');
    const uint64_t before = WriteLastDigits(count, value, last.data() + count);
    EXPECT_EQ(last, digits.substr(digits.size() - count));
    EXPECT_TRUE(AreLastDigits(last, value));
    for (char& digit : last) {
      ++digit;
      EXPECT_FALSE(AreLastDigits(last, value)) << last << ", " << value;
      --digit;
    }
    EXPECT_EQ(std::to_string(before),
              count < digits.size() ? digits.substr(0, digits.size() - count) : std::string("0"));
  }
}

TEST(DigitsTest, NumbersAroundEachPowerOfTen) {
  for (const uint64_t power : kPowersOfTen) {
    ExpectDigits(power - 1);
    ExpectDigits(power);
    ExpectDigits(power + 1);
  }
  ExpectDigits(std::numeric_limits<uint64_t>::max());
}

TEST(DigitsTest, NumbersOfAnySize) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) ExpectDigits(random() >> random() % 64);
}

}  // namespace
}  // namespace tallyd
