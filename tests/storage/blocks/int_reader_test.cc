// What reading integers tells of them: between which two they lie, and which stretches are even.
#include "storage/blocks/int_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/storage/blocks/ints.h"

namespace tallyd {
namespace {

Extremes BoundsOf(const Ints& values) {
  const std::string bytes = EncodeIntsOf(values);
  ByteReader in(bytes);
  Ints read(values.size());
  Extremes within;
  EXPECT_TRUE(ReadInts(&in, read, &within));
  EXPECT_EQ(read, values);
  return within;
}

// Noise of any width, with steps, or steps that grow, so that each order is chosen.
Ints AnyInts(std::mt19937_64* random) {
  const auto noise = static_cast<unsigned>((*random)() % 64);
  const auto sort = (*random)() % 3;
  Ints values;
  uint64_t at = (*random)() >> ((*random)() % 64);
  uint64_t step = (*random)() >> (20 + (*random)() % 44);
  for (uint64_t count = 1 + (*random)() % 700; count > 0; --count) {
    const uint64_t more = (*random)() >> (63 - noise) >> 1;
    if (sort == 2) step += more;
    at += sort == 0 ? 0 : step + (sort == 1 ? more : 0);
    if ((*random)() % 300 == 0) at = (*random)();
    values.push_back(static_cast<int64_t>(sort == 0 ? more : at));
  }
  return values;
}

TEST(IntReaderTest, AllLieWithinWhatItTells) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    const Ints values = AnyInts(&random);
    const Extremes within = BoundsOf(values);
    ASSERT_LE(within.least, std::ranges::min(values)) << "round " << round;
    ASSERT_GE(within.greatest, std::ranges::max(values)) << "round " << round;
  }
  for (const Ints& values :
       {Ints{kLeastInt, kMostInt}, Ints{kMostInt}, Ints{kLeastInt}, Ints{0, kMostInt, 0}}) {
    const Extremes within = BoundsOf(values);
    ASSERT_LE(within.least, std::ranges::min(values));
    ASSERT_GE(within.greatest, std::ranges::max(values));
  }
}

TEST(IntReaderTest, WhatItTellsOfSmallIntsIsSmall) {
  std::mt19937_64 random(2);
  Ints values;
  int64_t at = 5000;
  for (int i = 0; i < 2048; ++i) values.push_back(at += static_cast<int64_t>(random() % 61) - 30);
  const Extremes within = BoundsOf(values);
  EXPECT_GT(within.least, -1'000'000);
  EXPECT_LT(within.greatest, 1'000'000);
}

// Reads them as stretches; none where it does not.
std::vector<EvenInts> StretchesOf(const Ints& values) {
  const std::string bytes = EncodeIntsOf(values) + "more";
  ByteReader in(bytes);
  std::vector<EvenInts> stretches;
  if (!ReadEvenInts(&in, values.size(), &stretches)) {
    EXPECT_EQ(in.left(), bytes.size()) << "the reader stays where it is";
    return {};
  }
  EXPECT_EQ(in.rest(), "more");
  Ints read;
  for (const EvenInts& stretch : stretches) {
    for (uint32_t i = 0; i < stretch.count; ++i) {
      read.push_back(static_cast<int64_t>(static_cast<uint64_t>(stretch.first) +
                                          i * static_cast<uint64_t>(stretch.step)));
    }
  }
  EXPECT_EQ(read, values);
  return stretches;
}

TEST(IntReaderTest, ATickingClockIsOneStretch) {
  for (const size_t count : {127u, 128u, 129u, 2048u}) {
    Ints values;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(1'735'689'600 + static_cast<int64_t>(i) * 5);
    }
    EXPECT_EQ(StretchesOf(values).size(), 1) << count;
  }
}

TEST(IntReaderTest, ClocksOfSeveralMachinesAreAFewStretches) {
  Ints values;
  for (int machine = 0; machine < 5; ++machine) {
    for (int i = 0; i < 300 + machine; ++i) values.push_back(1'000'000 + machine + i * 5);
  }
  const size_t stretches = StretchesOf(values).size();
  EXPECT_GE(stretches, 5);
  EXPECT_LE(stretches, 10);
}

TEST(IntReaderTest, StretchesAreWhatIsStoredOrThereAreNone) {
  std::mt19937_64 random(3);
  size_t even = 0;
  for (int round = 0; round < 2000; ++round) {
    Ints values;
    const auto step = static_cast<int64_t>(random() % 100) - 20;
    int64_t at = static_cast<int64_t>(random() % 1'000'000);
    const uint64_t jumps = 1 + random() % 500;
    for (uint64_t count = 1 + random() % 1000; count > 0; --count) {
      at += step + (random() % jumps == 0 ? static_cast<int64_t>(random() % 3000) - 1000 : 0);
      values.push_back(at);
    }
    even += StretchesOf(values).empty() ? 0 : 1;
    if (HasFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(even, 100);
}

TEST(IntReaderTest, EqualOnesAreStretchesWhereTheyAreFew) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    Ints values;
    size_t changes = 0;
    const uint64_t seldom = 1 + random() % 300;
    for (uint64_t count = 1 + random() % 1000; count > 0; --count) {
      const bool goes_on = !values.empty() && random() % seldom != 0;
      values.push_back(goes_on ? values.back() : static_cast<int64_t>(random() % 5));
      changes += values.size() == 1 || values.back() != values[values.size() - 2] ? 1 : 0;
    }
    const size_t most = random() % 20;
    const std::string bytes = EncodeIntsOf(values) + "more";
    ByteReader in(bytes);
    std::vector<EqualInts> stretches;
    ASSERT_EQ(ReadEqualInts(&in, values.size(), most, &stretches), changes <= most);
    ASSERT_EQ(in.rest(), changes <= most ? "more" : bytes);
    if (changes > most) continue;
    Ints read;
    for (const EqualInts& stretch : stretches) {
      read.insert(read.end(), stretch.count, stretch.value);
    }
    ASSERT_EQ(read, values) << "round " << round;
    ASSERT_EQ(stretches.size(), changes);
  }
}

TEST(IntReaderTest, DamagedStretchesAreNoneOrNumbersButNeverACrash) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 5000; ++round) {
    Ints values;
    for (int i = 0; i < 300; ++i) values.push_back(1000 + i * 5 + (i > 150 ? 77 : 0));
    std::string bytes = EncodeIntsOf(values);
    bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const std::vector<char> exact(bytes.begin(), bytes.end());
    ByteReader in({exact.data(), exact.size()});
    std::vector<EvenInts> stretches;
    if (!ReadEvenInts(&in, values.size(), &stretches)) continue;
    size_t count = 0;
    for (const EvenInts& stretch : stretches) count += stretch.count;
    ASSERT_EQ(count, values.size());
  }
}

}  // namespace
}  // namespace tallyd
