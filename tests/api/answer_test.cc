#include "api/answer.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

AnswerFormat FormatFor(const std::string& accept, const std::string& query = "") {
  Request request;
  request.accept = accept;
  request.params = *Params::Parse(query);
  return *ChooseFormat(request);
}

TEST(AnswerTest, TheFormatWithTheGreatestWeightIsChosen) {
  EXPECT_EQ(FormatFor("text/csv;q=0.5, application/x-ndjson"), AnswerFormat::kNdjson);
  EXPECT_EQ(FormatFor("text/csv;q=0.5, application/x-ndjson;q=0.4"), AnswerFormat::kCsv);
  EXPECT_EQ(FormatFor("application/json;q=0.1, text/csv;q=0.2"), AnswerFormat::kCsv);
  EXPECT_EQ(FormatFor("text/csv;q=0, application/json"), AnswerFormat::kJson);
}

TEST(AnswerTest, EveryFormatHasAName) {
  for (const AnswerFormatInfo& info : kAnswerFormats) {
    EXPECT_EQ(FormatFor("", "format=" + std::string(info.name)), info.format);
    EXPECT_EQ(FormatFor(std::string(info.media_types[0])), info.format);
  }
}

TEST(AnswerTest, OfEqualWeightsTheFirstNamedWins) {
  EXPECT_EQ(FormatFor("text/csv, application/json"), AnswerFormat::kCsv);
  EXPECT_EQ(FormatFor("application/json, text/csv"), AnswerFormat::kJson);
  EXPECT_EQ(FormatFor("*/*, text/csv"), AnswerFormat::kCsv);
  EXPECT_EQ(FormatFor("text/html, Text/CSV;header=present"), AnswerFormat::kCsv);
}

TEST(AnswerTest, AWildcardTakesWhatIsNotNamed) {
  EXPECT_EQ(FormatFor("*/*"), AnswerFormat::kJson);
  EXPECT_EQ(FormatFor("text/*"), AnswerFormat::kCsv);
  EXPECT_EQ(FormatFor("application/*"), AnswerFormat::kJson);
  EXPECT_EQ(FormatFor("text/csv;q=0.5, */*;q=0.9"), AnswerFormat::kJson);
  EXPECT_EQ(FormatFor("application/json;q=0, application/*"), AnswerFormat::kNdjson);
  EXPECT_EQ(FormatFor("text/html, application/xml;q=0.9, */*;q=0.8"), AnswerFormat::kJson);
}

TEST(AnswerTest, WhereNothingFitsItIsJson) {
  EXPECT_EQ(FormatFor(""), AnswerFormat::kJson);
  EXPECT_EQ(FormatFor("application/xml"), AnswerFormat::kJson);
  EXPECT_EQ(FormatFor("text/csv;q=0"), AnswerFormat::kJson);
}

TEST(AnswerTest, TheParameterDecidesBeforeTheHeader) {
  EXPECT_EQ(FormatFor("text/csv", "format=ndjson"), AnswerFormat::kNdjson);
  Request request;
  request.params = *Params::Parse("format=xml");
  EXPECT_FALSE(ChooseFormat(request));
}

}  // namespace
}  // namespace tallyd
