// Codes of keys, against comparisons of the keys themselves.
#include "storage/leveldb/files/key_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tallyd {
namespace {

std::string Terminated(const std::string& text) {
  return text + std::string("\0\1", 2);  // No key is the beginning of another.
}

TEST(KeyCodeTest, IsWordsNotInCommonAboveTheNextWord) {
  EXPECT_EQ(CodeBehind("abcdefgh", 0), 0xfffe'6162'6364'6566u);
  EXPECT_EQ(CodeBehind("abcdefgh", 7), 0xfffd'6768'0000'0000u);
  EXPECT_EQ(EndOfCode(CodeBehind("abcdefgh", 5)), 6u);
  EXPECT_EQ(EndOfCode(CodeBehind("abcdefgh", 6)), 12u);
  EXPECT_EQ(CodeBehind("", 0), 0xfffe'0000'0000'0000u);
}

TEST(KeyCodeTest, CountsNoMoreWordsThanThereIsRoomFor) {
  const std::string key(500'000, 'k');
  EXPECT_EQ(CodeBehind(key, key.size()), 0x0000'6b6b'6b6b'6b6bu);
}

// Of any three keys in order: what is known of the third against the first and of the second
// against the first tells which comes first, and what the third is against the second.
TEST(KeyCodeTest, OfTwoKeysBehindAThirdCodesTellTheOrder) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::set<std::string> keys;
    while (keys.size() < 3) {
      std::string key(random() % 20, 'a');
      for (char& c : key) c = "ab\xff"[random() % 3];
      keys.insert(Terminated(key));
    }
    const std::vector<std::string> in_order(keys.begin(), keys.end());
    const auto code = [&](size_t of, size_t against) {
      return CodeBehind(in_order[of], CommonBytes(in_order[of], in_order[against]));
    };
    EXPECT_LE(code(1, 0), code(2, 0));
    EXPECT_LT(code(2, 0), kNoKey);
    if (code(1, 0) != code(2, 0)) {
      EXPECT_EQ(code(2, 0), code(2, 1));
    } else {
      EXPECT_GE(CommonBytes(in_order[1], in_order[2]),
                std::min(EndOfCode(code(1, 0)), in_order[1].size()));
    }
  }
}

}  // namespace
}  // namespace tallyd
