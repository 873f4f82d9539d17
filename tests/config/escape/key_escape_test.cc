// Escapes in row keys, against a byte by byte reading of what the header says.
#include "config/escape/key_escape.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

namespace tallyd {
namespace {

std::string Escaped(std::string_view text, char stop) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f && c != '%' && c != stop) {
      escaped.push_back(c);
      continue;
    }
    char hex[4];
    std::snprintf(hex, sizeof hex, "%%%02X", byte);
    escaped.append(hex);
  }
  return escaped;
}

void ExpectBothWays(const std::string& text, char stop) {
  std::string out = "%before#" + text;
  EscapeTail(8, stop, &out);
  const std::string escaped = out.substr(8);
  EXPECT_EQ(escaped, Escaped(text, stop));
  std::string scratch;
  scratch.reserve(escaped.size());
  std::string_view back;
  ASSERT_TRUE(Unescape(escaped, stop, &scratch, &back));
  EXPECT_EQ(back, text);
}

TEST(KeyEscapeTest, EveryByteInEveryPlaceOfShortAndLongTexts) {
  for (const size_t size : {1, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 40}) {
    for (size_t place = 0; place < size; ++place) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, 'a');
        text[place] = static_cast<char>(byte);
        for (const char stop : {'\0', '#', '\x80', '\xff'}) ExpectBothWays(text, stop);
      }
    }
  }
}

TEST(KeyEscapeTest, AnyTextWithAnyStop) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 30, '\0');
    // Bytes next to those that are escaped, mostly.
    for (char& c : text)
      c = random() % 2 ? "\x1f\x20$%&\x7e\x7f\x80"[random() % 8] : static_cast<char>(random());
    ExpectBothWays(text, random() % 2 ? '\0' : static_cast<char>(random()));
  }
}

TEST(KeyEscapeTest, WhatIsNotEncodedSoIsRefused) {
  std::string scratch(100, '\0');
  scratch.clear();
  std::string_view text;
  for (const char* raw : {"%", "%2", "%41", "%2b", "%zz", "12345678%", "1234567\x01", "a#b"}) {
    EXPECT_FALSE(Unescape(raw, '#', &scratch, &text)) << raw;
  }
}

}  // namespace
}  // namespace tallyd
