#include "config/values/byte_size.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(ByteSizeTest, IsReadWithItsUnit) {
  EXPECT_EQ(ParseSize("0"), 0u);
  EXPECT_EQ(ParseSize("65536"), 65'536u);
  EXPECT_EQ(ParseSize("7B"), 7u);
  EXPECT_EQ(ParseSize("64KiB"), 65'536u);
  EXPECT_EQ(ParseSize("32 MiB"), 33'554'432u);
  EXPECT_EQ(ParseSize("1GiB"), 1'073'741'824u);
  EXPECT_EQ(ParseSize("2TiB"), 2'199'023'255'552u);
}

TEST(ByteSizeTest, RefusesWhatIsNone) {
  for (const char* text : {"", "MiB", "-1", "1.5MiB", "1MB", "1mib", "1  MiB", " 1", "1 ",
                           "99999999999999999999", "18446744073709551615KiB", "16777216TiB"}) {
    EXPECT_FALSE(ParseSize(text).has_value()) << text;
  }
}

TEST(ByteSizeTest, IsSpelledWithTheLargestUnitThatDividesIt) {
  EXPECT_EQ(FormatSize(0), "0");
  EXPECT_EQ(FormatSize(1'000), "1000");
  EXPECT_EQ(FormatSize(65'536), "64KiB");
  EXPECT_EQ(FormatSize(33'554'432), "32MiB");
  EXPECT_EQ(FormatSize(1'610'612'736), "1536MiB");
}

}  // namespace
}  // namespace tallyd
