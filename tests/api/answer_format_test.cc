#include "api/answer_format.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

std::string Csv(std::string_view text) {
  std::string out;
  AppendCsvText(text, &out);
  return out;
}

TEST(AnswerFormatTest, EachStandsAtItsPlace) {
  for (const AnswerFormatInfo& info : kAnswerFormats) {
    EXPECT_EQ(&InfoOf(info.format), &info) << info.name;
    EXPECT_TRUE(info.content_type.starts_with(info.media_types[0])) << info.name;
  }
}

TEST(AnswerFormatTest, CsvQuotesWhatMustBeAndWhatWouldReadAsAnotherType) {
  EXPECT_EQ(Csv("a b"), "a b");
  EXPECT_EQ(Csv("a,b"), "\"a,b\"");
  EXPECT_EQ(Csv("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(Csv("a\nb"), "\"a\nb\"");
  EXPECT_EQ(Csv(""), "\"\"");
  for (const std::string text : {"7", "-7", "0.50", "1e3", "99999999999999999999", "true"}) {
    EXPECT_EQ(Csv(text), "\"" + text + "\"");
  }
  for (const std::string text : {"007", "+7", "7 ", "1.", ".5", "True", "null", "NaN", "-"}) {
    EXPECT_EQ(Csv(text), text);
  }
}

TEST(AnswerFormatTest, TsvEscapesWhatSeparates) {
  std::string out;
  AppendTsvText("a\tb\nc\rd\\e f", &out);
  EXPECT_EQ(out, "a\\tb\\nc\\rd\\\\e f");
  out.clear();
  AppendTsvText("\\N", &out);
  EXPECT_NE(out, kTsvSyntax.absent);
  out.clear();
  AppendTsvText("", &out);
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace tallyd
