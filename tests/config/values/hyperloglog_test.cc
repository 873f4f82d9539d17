#include "config/values/hyperloglog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace tallyd {
namespace {

std::string StateOf(const HyperLogLog& sketch) {
  std::string state;
  sketch.Encode(&state);
  return state;
}

HyperLogLog Counted(int from, int to) {
  HyperLogLog sketch;
  for (int i = from; i < to; ++i) sketch.Add("visitor" + std::to_string(i));
  return sketch;
}

TEST(HyperLogLog, CountsATextOnceHoweverOftenItComes) {
  HyperLogLog sketch;
  for (const char* text : {"a", "b", "a"}) sketch.Add(text);
  EXPECT_EQ(sketch.Estimate(), 2u);
}

TEST(HyperLogLog, OfNothingIsZero) { EXPECT_EQ(HyperLogLog().Estimate(), 0u); }

TEST(HyperLogLog, IsWithinTwoUpToAHundred) {
  for (int trial = 0; trial < 200; ++trial) {
    HyperLogLog sketch;
    for (int n = 1; n <= 100; ++n) {
      sketch.Add(std::to_string(trial) + "/" + std::to_string(n));
      EXPECT_NEAR(static_cast<double>(sketch.Estimate()), n, 2);
    }
  }
}

// The root of the mean square of the relative error, over so many sketches of as many texts.
double StandardError(int texts, int sketches) {
  std::mt19937_64 random(static_cast<uint64_t>(texts));
  double squares = 0;
  for (int i = 0; i < sketches; ++i) {
    HyperLogLog sketch;
    for (int n = 0; n < texts; ++n) {
      const uint64_t text = random();
      sketch.Add({reinterpret_cast<const char*>(&text), sizeof text});
    }
    const double error = static_cast<double>(sketch.Estimate()) / texts - 1;
    squares += error * error;
  }
  return std::sqrt(squares / sketches);
}

TEST(HyperLogLog, HasAStandardErrorOfAtMostOnePercent) {
  EXPECT_LE(StandardError(1000, 50), 0.001);  // Sparse.
  EXPECT_LE(StandardError(3073, 100), 0.01);  // Just dense.
  EXPECT_LE(StandardError(20'000, 100), 0.01);
  EXPECT_LE(StandardError(100'000, 50), 0.01);
}

TEST(HyperLogLog, MakesTheSameBytesInAnyOrderAndGrouping) {
  for (const int texts : {1, 100, 3000, 3200, 10'000}) {
    std::vector<int> numbers(static_cast<size_t>(texts));
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), std::mt19937(7));
    HyperLogLog shuffled;
    for (const int n : numbers) shuffled.Add("visitor" + std::to_string(n));
    HyperLogLog merged;
    for (const auto& [from, to] : {std::pair(texts / 3, texts), std::pair(0, texts / 2)}) {
      EXPECT_TRUE(merged.Merge(StateOf(Counted(from, to))));
    }
    EXPECT_EQ(StateOf(shuffled), StateOf(Counted(0, texts))) << texts;
    EXPECT_EQ(StateOf(merged), StateOf(Counted(0, texts))) << texts;
  }
}

TEST(HyperLogLog, OfASketchIsThatSketch) {
  for (const int texts : {0, 1, 3072, 3073, 50'000}) {
    const std::string state = StateOf(Counted(0, texts));
    HyperLogLog read;
    EXPECT_TRUE(read.Merge(state));
    EXPECT_EQ(StateOf(read), state) << texts;
  }
}

TEST(HyperLogLog, TakesTwelveKibibytesAndAByteAtMost) {
  EXPECT_LE(StateOf(Counted(0, 1)).size(), 6u);
  EXPECT_LE(StateOf(Counted(0, 3072)).size(), 12'288u);
  EXPECT_EQ(StateOf(Counted(0, 100'000)).size(), 12'289u);
}

TEST(HyperLogLog, RefusesBytesThatAreNoStateAndStaysAsItWas) {
  const std::string sparse = StateOf(Counted(0, 10));
  const std::string dense = StateOf(Counted(0, 4000));
  const std::string too_great = std::string(1, '\2') + std::string(12'288, '\xff');
  for (const std::string& wrong :
       {std::string(), std::string("\3"), std::string("\1\x80"), std::string("\1\0", 2),
        sparse + '\0', dense + '\0', dense.substr(0, 100), too_great,
        std::string("\1\xff\xff\xff\xff\xff\xff", 7)}) {
    HyperLogLog sketch = Counted(0, 5);
    EXPECT_FALSE(sketch.Merge(wrong)) << testing::PrintToString(wrong.substr(0, 20));
    EXPECT_EQ(StateOf(sketch), StateOf(Counted(0, 5)));
  }
}

TEST(HyperLogLog, SurvivesAnyBytes) {
  std::mt19937 random(3);
  for (const int texts : {3, 500, 5000}) {
    const std::string good = StateOf(Counted(0, texts));
    for (int trial = 0; trial < 200; ++trial) {
      std::string state = good;
      state[random() % state.size()] = static_cast<char>(random());
      HyperLogLog sketch;
      if (!sketch.Merge(state)) continue;
      EXPECT_TRUE(HyperLogLog().Merge(StateOf(sketch)));
    }
  }
}

}  // namespace
}  // namespace tallyd
