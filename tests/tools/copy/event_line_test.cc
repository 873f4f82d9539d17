// A line of NDJSON is told from any other event's, and travels without a change to its values.
#include "tools/copy/event_line.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

EventLine Read(std::string_view line, TimeUnit unit = TimeUnit::kMilliseconds) {
  return ReadEventLine(line, unit).value();
}

TEST(EventLineTest, TheTimeIsReadInTheStreamsUnit) {
  EXPECT_EQ(Read(R"({"ts":1426535612045.125,"a":1})").time, 1426535612045125);
  EXPECT_EQ(Read(R"({"ts":1426535612.5,"a":1})", TimeUnit::kSeconds).time, 1426535612500000);
}

TEST(EventLineTest, TheOrderOfFieldsAndTheNameOfTheTimeDoNotMatter) {
  const uint64_t digest = Read(R"({"ts":1000,"a":1,"b":"x"})").digest;
  EXPECT_EQ(digest, Read(R"({"when":1,"b":"x","a":1})", TimeUnit::kSeconds).digest);
}

TEST(EventLineTest, AnotherTimeNameValueOrTypeIsAnotherEvent) {
  const uint64_t digest = Read(R"({"ts":1000,"a":1,"b":2})").digest;
  for (const char* other :
       {R"({"ts":1001,"a":1,"b":2})", R"({"ts":1000,"a":2,"b":1})", R"({"ts":1000,"a":1.0,"b":2})",
        R"({"ts":1000,"a":"1","b":2})", R"({"ts":1000,"a":1})", R"({"ts":1000,"a":1,"c":2})"}) {
    EXPECT_NE(digest, Read(other).digest) << other;
  }
}

TEST(EventLineTest, BytesAreNoticedAndTextThatLooksLikeThemIsNot) {
  EXPECT_EQ(Read(R"({"ts":1,"a":{"base64":"AA=="}})").bytes_field, "\"a\"");
  EXPECT_EQ(Read(R"({"ts":1,"a":"{\"base64\"}"})").bytes_field, "");
}

TEST(EventLineTest, ALineIsSpelledForAnotherStream) {
  std::string out;
  AppendEventLine(Read(R"({"ts":1426535612045.125,"a":1.50})"), "\"when\"", TimeUnit::kSeconds,
                  &out);
  EXPECT_EQ(out, "{\"when\":1426535612.045125,\"a\":1.50}\n");
}

TEST(EventLineTest, WhatIsNoEventIsNamed) {
  for (const char* line : {"", "{}", "<html>", R"({"ts":"x","a":1})", R"({"ts":1)"}) {
    EXPECT_FALSE(ReadEventLine(line, TimeUnit::kMilliseconds)) << line;
  }
}

}  // namespace
}  // namespace tallyd
