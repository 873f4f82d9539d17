// What people read: columns that line up, sizes and rates, keys of any bytes.
#include "tools/console.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(ConsoleTest, ATableLinesUp) {
  EXPECT_EQ(TextTable({{"table", "rows"}, {"METRIC", "5"}, {"B", "1234567"}}),
            "table      rows\n"
            "METRIC        5\n"
            "B       1234567\n");
}

TEST(ConsoleTest, SizesHaveAUnit) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1500), "1.5 kB");
  EXPECT_EQ(FormatBytes(2'340'000'000), "2.3 GB");
  EXPECT_EQ(FormatBytes(12'000'000'000'000'000), "12000.0 TB");
}

TEST(ConsoleTest, AKeyOfAnyBytesIsOneLine) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(Printable("server1#5"), "server1#5");
  EXPECT_EQ(Printable("a\0\n\\\xff"sv), "a\\x00\\x0a\\x5c\\xff");
}

TEST(ConsoleTest, ProgressTellsShareAndRate) {
  EXPECT_EQ(ProgressText("reading", 0, 0, 0), "reading");
  EXPECT_EQ(ProgressText("reading", 50'000'000, 200'000'000, 2.5),
            "reading: 25 % of 200.0 MB, 20.0 MB/s");
  EXPECT_EQ(ProgressText("copying", 5'000'000, 0, 1), "copying: 5.0 MB/s");
}

}  // namespace
}  // namespace tallyd
