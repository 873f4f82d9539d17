#include "api/cursor.h"

#include <gtest/gtest.h>

#include <string>

namespace tallyd {
namespace {

std::string Written() {
  CursorWriter writer(42);
  writer.AddInt(-5);
  writer.AddText(std::string("a\0b", 3));
  return writer.Finish();
}

TEST(CursorTest, WhatWasWrittenIsRead) {
  Result<CursorReader> reader = CursorReader::Open(Written(), 42);
  ASSERT_TRUE(reader);
  int64_t number = 0;
  std::string text;
  EXPECT_TRUE(reader->TakeInt(&number));
  EXPECT_TRUE(reader->TakeText(&text));
  EXPECT_EQ(number, -5);
  EXPECT_EQ(text, std::string("a\0b", 3));
  EXPECT_TRUE(reader->AtEnd());
}

TEST(CursorTest, AnotherQueryDoesNotTakeIt) { EXPECT_FALSE(CursorReader::Open(Written(), 43)); }

TEST(CursorTest, NoCutOrChangedCursorIsReadBeyondItsEnd) {
  const std::string whole = Written();
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string changed = whole.substr(0, size);
    for (const char last : {'\0', 'A', '_', '!'}) {
      changed.push_back(last);
      Result<CursorReader> reader = CursorReader::Open(changed, 42);
      int64_t number = 0;
      std::string text;
      if (reader && reader->TakeInt(&number)) reader->TakeText(&text);
      changed.pop_back();
    }
  }
}

TEST(CursorTest, ItGoesIntoAUrlAsItIs) {
  EXPECT_EQ(Written().find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789-_"),
            std::string::npos);
}

TEST(CursorTest, TheHashTellsQueriesApartAndNotPages) {
  const auto hash = [](const char* query) {
    return HashOfQuery("events", "server", *Params::Parse(query));
  };
  EXPECT_EQ(hash("a=1&b=2"), hash("b=2&a=1"));
  EXPECT_EQ(hash("a=1"), hash("a=1&limit=5&cursor=x&format=csv"));
  EXPECT_NE(hash("a=1"), hash("a=2"));
}

}  // namespace
}  // namespace tallyd
