// Numbers and strings as bytes: they read back, and a reader never passes the end.
#include "storage/bytes/coding.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace tallyd {
namespace {

constexpr unsigned kSeed = 20261121;

std::string RandomBytes(std::mt19937_64& random, size_t max) {
  std::string bytes(random() % (max + 1), '\0');
  for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? 0xff : random());
  return bytes;
}

TEST(CommonBytesTest, AreCountedUpToTheShorterOne) {
  EXPECT_EQ(CommonBytes("", "abc"), 0u);
  EXPECT_EQ(CommonBytes("abc", "abd"), 2u);
  EXPECT_EQ(CommonBytes("0123456789ab", "0123456789ab"), 12u);
  EXPECT_EQ(CommonBytes("0123456789abcdefg", "0123456789abcdeFg", 5), 15u);
  EXPECT_EQ(CommonBytes("01234567", "01234567890123456789"), 8u);
}

TEST(CodingTest, VarintsReadBackWhateverFollows) {
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t v = random() >> (random() % 64);
    std::string bytes;
    PutVarint(&bytes, v);
    EXPECT_EQ(bytes.size(), std::max<size_t>(1, (static_cast<size_t>(std::bit_width(v)) + 6) / 7));
    const size_t size = bytes.size();
    bytes += RandomBytes(random, 12);
    ByteReader in(bytes);
    uint64_t read = 0;
    ASSERT_TRUE(in.GetVarint(&read));
    EXPECT_EQ(read, v);
    EXPECT_EQ(in.left(), bytes.size() - size);
    ByteReader cut(std::string_view(bytes).substr(0, size - 1));
    EXPECT_FALSE(cut.GetVarint(&read));
  }
}

TEST(CodingTest, VarintsReadBackUpToTheEnd) {
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes;
    std::vector<uint64_t> written(1 + random() % 6);
    for (uint64_t& v : written) PutVarint(&bytes, v = random() >> (random() % 64));
    // Of its own allocation, so that a look behind the end is seen.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    ByteReader in({exact.data(), exact.size()});
    for (const uint64_t v : written) {
      uint64_t read = 0;
      ASSERT_TRUE(in.GetVarint(&read));
      EXPECT_EQ(read, v);
    }
    EXPECT_TRUE(in.done());
    uint64_t read = 0;
    EXPECT_FALSE(in.GetVarint(&read));
    EXPECT_EQ(in.VarintBytes(), 0u);
  }
}

TEST(CodingTest, AWordWithoutALastByteIsNoVarint) {
  const std::string goes_on(9, '\xff');
  for (size_t size = 0; size <= goes_on.size(); ++size) {
    const std::vector<char> exact(goes_on.begin(), goes_on.begin() + static_cast<ptrdiff_t>(size));
    ByteReader in({exact.data(), exact.size()});
    uint64_t read = 0;
    EXPECT_EQ(in.VarintBytes(), 0u) << size;
    EXPECT_FALSE(in.GetVarint(&read)) << size;
  }
}

TEST(CodingTest, BitsAreMovedAsInSteps) {
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t v = random() >> (random() % 64);
    const uint64_t number = v & kMaxWordVarint;
    EXPECT_EQ(SpreadVarint(number), SpreadBySteps(number)) << number;
    EXPECT_EQ(GatherVarint(v), GatherBySteps(v)) << v;
    EXPECT_EQ(GatherVarint(SpreadVarint(number)), number);
  }
}

TEST(CodingTest, AVarintOfMoreThan64BitsIsMalformed) {
  uint64_t read = 0;
  ByteReader most("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  ASSERT_TRUE(most.GetVarint(&read));
  EXPECT_EQ(read, std::numeric_limits<uint64_t>::max());
  ByteReader beyond("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
  EXPECT_FALSE(beyond.GetVarint(&read));
  ByteReader endless("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
  EXPECT_FALSE(endless.GetVarint(&read));
}

TEST(CodingTest, ANumberBeyondItsLimitIsMalformed) {
  std::string bytes;
  PutVarint(&bytes, 300);
  uint16_t number = 0;
  EXPECT_TRUE(ByteReader(bytes).GetNumber(&number, 300));
  EXPECT_EQ(number, 300);
  EXPECT_FALSE(ByteReader(bytes).GetNumber(&number, 299));
}

TEST(CodingTest, SmallNumbersOfEitherSignAreSmall) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(ZigZag(0), 0u);
  EXPECT_EQ(ZigZag(-1), 1u);
  EXPECT_EQ(ZigZag(1), 2u);
  for (const int64_t n : {int64_t{0}, int64_t{-1}, kMost, -kMost - 1}) {
    EXPECT_EQ(UnZigZag(ZigZag(n)), n);
  }
}

TEST(CodingTest, FixedNumbersSortAsTheirBytes) {
  std::string less;
  std::string greater;
  PutU64(&less, 255);
  PutU64(&greater, 256);
  EXPECT_LT(less, greater);
  EXPECT_EQ(DecodeU64(greater.data()), 256u);
}

TEST(CodingTest, AStringLongerThanWhatIsLeftIsMalformed) {
  std::string bytes;
  PutString(&bytes, "text");
  std::string_view read;
  EXPECT_TRUE(ByteReader(bytes).GetString(&read));
  EXPECT_EQ(read, "text");
  EXPECT_FALSE(ByteReader(bytes.substr(0, 4)).GetString(&read));
  std::string huge;
  PutVarint(&huge, std::numeric_limits<uint64_t>::max());
  EXPECT_FALSE(ByteReader(huge + "text").GetString(&read));
}

TEST(ByteBufferTest, WhatIsThereStaysWhileItGrows) {
  std::mt19937_64 random(kSeed);
  ByteBuffer buffer;
  std::string expected;
  for (int i = 0; i < 2000; ++i) {
    const std::string bytes = RandomBytes(random, 300);
    buffer.Append(bytes);
    expected += bytes;
    if (i % 100 != 99) continue;
    expected.resize(expected.size() / 2);
    buffer.Truncate(expected.size());
  }
  EXPECT_EQ(buffer.View(0, buffer.size()), expected);
}

}  // namespace
}  // namespace tallyd
