// Integers of a column block: any of them come back, and alike ones take few bits.
#include "storage/blocks/int_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "storage/blocks/int_reader.h"
#include "tests/storage/blocks/ints.h"

namespace tallyd {
namespace {

// Whatever follows: the reader stands at the first byte after them.
void ExpectRoundTrip(const Ints& values) {
  const std::string bytes = EncodeIntsOf(values);
  for (const size_t more : {0u, 1u, 20u}) {
    const std::string followed = bytes + std::string(more, '\xff');
    ByteReader in(followed);
    Ints read(values.size());
    ASSERT_TRUE(ReadInts(&in, read));
    EXPECT_EQ(in.left(), more);
    ASSERT_EQ(read, values);
  }
}

// Order, then of a group its width (and 0x80: there are outliers), its least, its outliers, and
// what each of the others is above the least (storage/FORMAT.md, Block files: ints).
TEST(IntCodecTest, AreStoredAsTheFormatSays) {
  using namespace std::string_literals;
  EXPECT_EQ(EncodeIntsOf({7}), "\x00\x00\x0e"s);
  EXPECT_EQ(EncodeIntsOf({3, 1, 2, 0, 3, 1}), "\x00\x02\x00\x27\x07"s);
  EXPECT_EQ(EncodeIntsOf({10, 20, 30, 40}), "\x01\x00\x14"s);
  EXPECT_EQ(EncodeIntsOf({-3, 5, 4}), "\x00\x04\x05\x80\x07"s);
  Ints one_outlier;
  for (int64_t i = 0; i < 40; ++i) one_outlier.push_back(i == 17 ? int64_t{1} << 40 : i * 5 % 8);
  EXPECT_EQ(EncodeIntsOf(one_outlier),
            "\x00\x83\x00\x01\x11\x80\x80\x80\x80\x80\x40"
            "\xa8\xce\x78\xa8\xce\x78\x80\xce\x78\xa8\xce\x78\xa8\xce\x78"s);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(EncodeIntsOf({kLeast, kMost, 0}),
            "\x00\x80\x00\x02\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
            "\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
}

double BitsPerValue(const Ints& values) {
  return 8.0 * static_cast<double>(EncodeIntsOf(values).size()) /
         static_cast<double>(values.size());
}

TEST(IntCodecTest, ExtremesAndTheirDifferencesComeBack) {
  ExpectRoundTrip({});
  ExpectRoundTrip({0});
  ExpectRoundTrip({kLeastInt});
  ExpectRoundTrip({kMostInt, kLeastInt});
  ExpectRoundTrip({kLeastInt, kMostInt, kLeastInt, kMostInt, 0, -1, 1});
  Ints alternating;
  for (int i = 0; i < 400; ++i) alternating.push_back(i % 2 == 0 ? kLeastInt : kMostInt);
  ExpectRoundTrip(alternating);
}

TEST(IntCodecTest, AnyNumberOfThemComesBack) {
  for (size_t count = 1; count < 400; ++count) {
    Ints values;
    for (size_t i = 0; i < count; ++i) values.push_back(static_cast<int64_t>(i * i % 1009));
    ExpectRoundTrip(values);
  }
}

TEST(IntCodecTest, EveryWidthComesBack) {
  std::mt19937_64 random(1);
  for (unsigned width = 0; width <= 64; ++width) {
    Ints values;
    for (int i = 0; i < 300; ++i) {
      values.push_back(width == 0 ? 5 : static_cast<int64_t>(random() >> (64 - width)));
    }
    ExpectRoundTrip(values);
  }
}

// Counters, clocks and noise, with jumps among them.
Ints RandomInts(std::mt19937_64& random) {
  Ints values;
  const auto noise = static_cast<unsigned>(random() % 64);
  const auto step = static_cast<int64_t>(random() % 5000);
  const uint64_t jumps = 1 + random() % 200;
  auto at = static_cast<uint64_t>(random() >> (random() % 64));
  for (uint64_t count = 1 + random() % 1500; count > 0; --count) {
    at += static_cast<uint64_t>(step) + (random() >> (63 - noise));
    if (random() % jumps == 0) at = random();
    values.push_back(static_cast<int64_t>(at));
  }
  return values;
}

TEST(IntCodecTest, AnythingComesBack) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) ExpectRoundTrip(RandomInts(random));
}

TEST(IntCodecSizeTest, AClockThatTicksEvenlyTakesAlmostNothing) {
  Ints values;
  for (int i = 0; i < 2048; ++i) values.push_back(1'735'689'600'000 + i * 5000);
  EXPECT_LT(BitsPerValue(values), 0.5);
}

TEST(IntCodecSizeTest, ACounterTakesWhatItsStepsTake) {
  std::mt19937_64 random(3);
  Ints values = {1'000'000'000};
  for (int i = 0; i < 2047; ++i) {
    values.push_back(values.back() + static_cast<int64_t>(random() % 16));
  }
  EXPECT_LT(BitsPerValue(values), 5);
}

TEST(IntCodecSizeTest, AFewJumpsDoNotWidenTheOthers) {
  std::mt19937_64 random(4);
  Ints values;
  for (int i = 0; i < 2048; ++i) {
    values.push_back(static_cast<int64_t>(i % 100 == 99 ? random() : random() % 16));
  }
  EXPECT_LT(BitsPerValue(values), 7);
}

// Values whose number of bits has no gap: what is left out of one group must not be the measure of
// the next.
TEST(IntCodecSizeTest, OutliersOfAllSizesDoNotWidenGroupAfterGroup) {
  std::mt19937_64 random(8);
  Ints values;
  for (int group = 0; group < 32; ++group) {
    Ints some;
    for (int i = 0; i < 111; ++i) some.push_back(static_cast<int64_t>(random() % 4));
    for (int i = 2; i < 19; ++i) some.push_back(int64_t{1} << i);
    std::shuffle(some.begin(), some.end(), random);
    values.insert(values.end(), some.begin(), some.end());
  }
  EXPECT_LT(BitsPerValue(values), 7);
}

TEST(IntCodecSizeTest, ALevelThatComesDownIsLeftBehind) {
  std::mt19937_64 random(9);
  Ints values;
  for (int i = 0; i < 128; ++i) values.push_back(1'000'000 + static_cast<int64_t>(random() % 8));
  for (int i = 0; i < 31 * 128; ++i) {
    values.push_back(i % 128 == 100 ? 1'000'000 : static_cast<int64_t>(random() % 8));
  }
  EXPECT_LT(BitsPerValue(values), 4.5);
}

TEST(IntCodecSizeTest, NoiseTakesHardlyMoreThanItself) {
  std::mt19937_64 random(5);
  Ints values;
  for (int i = 0; i < 2048; ++i) values.push_back(static_cast<int64_t>(random()));
  EXPECT_LT(BitsPerValue(values), 65);
}

TEST(IntCodecDamageTest, EveryTruncationIsMalformed) {
  std::mt19937_64 random(6);
  for (int round = 0; round < 30; ++round) {
    Ints values = RandomInts(random);
    values.resize(std::min<size_t>(values.size(), 300));
    const std::string bytes = EncodeIntsOf(values);
    Ints read(values.size());
    for (size_t size = 0; size < bytes.size(); ++size) {
      ByteReader in(std::string_view(bytes).substr(0, size));
      ASSERT_FALSE(ReadInts(&in, read)) << size;
    }
  }
}

TEST(IntCodecDamageTest, WhatNoWriterWritesIsMalformed) {
  Ints read(3);
  const auto reads = [&](std::string bytes) {
    bytes.append(64, '\0');
    ByteReader in(bytes);
    return ReadInts(&in, read);
  };
  using std::string_literals::operator""s;
  EXPECT_TRUE(reads("\x00\x02\x00\x00"s));
  EXPECT_FALSE(reads("\x03\x02\x00\x00"s)) << "an order that is not";
  EXPECT_FALSE(reads("\x00\x41\x00\x00"s)) << "65 bits";
  EXPECT_FALSE(reads("\x00\x82\x00\x04"s)) << "more outliers than values";
  EXPECT_FALSE(reads("\x00\x82\x00\x01\x03\x00"s)) << "an outlier behind the last value";
}

TEST(IntCodecDamageTest, DamagedBytesAreErrorsOrNumbersButNeverACrash) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 5000; ++round) {
    Ints values = RandomInts(random);
    values.resize(std::min<size_t>(values.size(), 150));
    std::string bytes = EncodeIntsOf(values);
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    // On the heap and of the exact size, so that a sanitizer sees a read beyond the end.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    ByteReader in({exact.data(), exact.size()});
    ReadInts(&in, values);
  }
}

}  // namespace
}  // namespace tallyd
