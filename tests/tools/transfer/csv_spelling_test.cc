// CSV of an answer becomes CSV that its stream reads as the same events.
#include "tools/transfer/csv_spelling.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(CsvSpellingTest, TheTimeHasTheNameThatTheStreamGivesIt) {
  const CsvSpelling spelling("at", TimeUnit::kMilliseconds);
  EXPECT_EQ(spelling.Header("ts,machine,\"a,b\"\r\n").value(), "at,machine,\"a,b\"\r\n");
  EXPECT_EQ(CsvSpelling("a,t", TimeUnit::kMilliseconds).Header("ts,x\r\n").value(),
            "\"a,t\",x\r\n");
  EXPECT_EQ(CsvSpelling().Header("ts,field.ts\r\n").value(), "ts,field.ts\r\n");
}

TEST(CsvSpellingTest, AFieldThatIsCalledAsTheTimeOfAnswersGetsItsNameBack) {
  const CsvSpelling spelling("at", TimeUnit::kMilliseconds);
  EXPECT_EQ(spelling.Header("ts,field.ts,v\r\n").value(), "at,ts,v\r\n");
  EXPECT_FALSE(spelling.Header("ts,field.ts,field.ts\r\n"));
  EXPECT_FALSE(spelling.Header("ts,\"at\"\r\n"));
}

TEST(CsvSpellingTest, ATimeThatIsAmongTheFieldsIsNotCalledSoTwice) {
  const CsvSpelling spelling("at", TimeUnit::kMilliseconds);
  EXPECT_EQ(spelling.Header("ts,v,at\r\n").value(), "ts,v,at\r\n");
}

TEST(CsvSpellingTest, TimesAreInTheUnitOfTheStream) {
  const std::string_view lines = "1500000000000,\"x\r\ny\",1\r\n1500000000000.125,,2\r\n";
  std::string spelled;
  ASSERT_TRUE(CsvSpelling("at", TimeUnit::kMilliseconds).AppendLines(lines, &spelled));
  EXPECT_EQ(spelled, lines);
  spelled.clear();
  ASSERT_TRUE(CsvSpelling("at", TimeUnit::kMicroseconds).AppendLines(lines, &spelled));
  EXPECT_EQ(spelled, "1500000000000000,\"x\r\ny\",1\r\n1500000000000125,,2\r\n");
  spelled.clear();
  ASSERT_TRUE(CsvSpelling("at", TimeUnit::kNanoseconds).AppendLines("1500000000000\r\n", &spelled));
  EXPECT_EQ(spelled, "1500000000000000000\r\n");
}

TEST(CsvSpellingTest, WhatIsNoCsvOfEventsIsRefused) {
  const CsvSpelling spelling("at", TimeUnit::kSeconds);
  for (const char* header : {"", "\n", "<html>\n", "time,x\r\n"}) {
    EXPECT_FALSE(spelling.Header(header)) << header;
  }
  std::string spelled;
  EXPECT_FALSE(spelling.AppendLines("x,1\r\n", &spelled));
}

TEST(CsvSpellingTest, ARecordEndsAtALineEndOutsideOfQuotes) {
  EXPECT_EQ(FirstRecord("ts,\"a\nb\"\r\n1,2\r\n"), "ts,\"a\nb\"\r\n");
  EXPECT_EQ(FirstRecord("ts,a"), "ts,a");
}

}  // namespace
}  // namespace tallyd
