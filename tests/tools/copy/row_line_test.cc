// A row becomes the mutations that write it, digit by digit.
#include "tools/copy/row_line.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(RowLineTest, CellsBecomeMutationsOfTheirFamilysKind) {
  const RowLine row =
      ReadRowLine(
          R"({"key":"a#1","cells":{"F":{"x":[{"value":1.50,"ts":1000.5},{"value":"t","ts":3}]},)"
          R"("S":{"n":[{"value":170141183460469231731687303715884105727,"ts":0}]}}})",
          {"S"})
          .value();
  EXPECT_EQ(row.key, "a#1");
  ASSERT_EQ(row.cells.size(), 3u);
  EXPECT_EQ(row.cells[0].mutation,
            R"({"set":{"family":"F","qualifier":"x","ts":1000.5,"value":1.50}})");
  EXPECT_EQ(row.cells[0].time, 1'000'500);
  EXPECT_EQ(row.cells[2].mutation, R"({"merge":{"family":"S","qualifier":"n","ts":0,)"
                                   R"("value":170141183460469231731687303715884105727}})");
}

TEST(RowLineTest, KeysAndNamesThatAreNoTextAreBytesAgain) {
  const RowLine row = ReadRowLine(R"({"key":{"base64":"/w=="},"cells":{"F":{)"
                                  R"("base64:/w==":[{"value":1,"ts":1}],)"
                                  R"("base64:QUJD":[{"value":1,"ts":1}],)"
                                  R"("base64:?":[{"value":{"base64":"AA=="},"ts":1}]}}})",
                                  {})
                          .value();
  EXPECT_EQ(row.key, "\xff");
  EXPECT_EQ(row.cells[0].mutation,
            R"({"set":{"family":"F","qualifier":{"base64":"/w=="},"ts":1,"value":1}})");
  EXPECT_EQ(row.cells[1].mutation,
            R"({"set":{"family":"F","qualifier":"base64:QUJD","ts":1,"value":1}})");
  EXPECT_EQ(row.cells[2].mutation,
            R"({"set":{"family":"F","qualifier":"base64:?","ts":1,"value":{"base64":"AA=="}}})");
}

TEST(RowLineTest, EveryPartOfACellTellsItFromOthers) {
  const auto digest = [](const char* key, const char* column, const char* value, const char* ts) {
    const std::string line = std::string("{\"key\":\"") + key + "\",\"cells\":{\"F\":{\"" + column +
                             "\":[{\"value\":" + value + ",\"ts\":" + ts + "}]}}}";
    return ReadRowLine(line, {}).value().cells[0].digest;
  };
  const uint64_t one = digest("k", "c", "1", "5");
  EXPECT_EQ(one, digest("k", "c", "1", "5"));
  EXPECT_NE(one, digest("l", "c", "1", "5"));
  EXPECT_NE(one, digest("k", "d", "1", "5"));
  EXPECT_NE(one, digest("k", "c", "1.0", "5"));
  EXPECT_NE(one, digest("k", "c", "1", "6"));
}

TEST(RowLineTest, WhatIsNoRowIsNamed) {
  for (const char* line : {"", "{}", R"({"key":1,"cells":{}})", R"({"key":"a"})",
                           R"({"key":"a","cells":{"F":1}})", R"({"key":"a","cells":{"F":{"c":1}}})",
                           R"({"key":"a","cells":{"F":{"c":[{"value":1}]}}})"}) {
    EXPECT_FALSE(ReadRowLine(line, {})) << line;
  }
}

}  // namespace
}  // namespace tallyd
