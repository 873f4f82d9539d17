#include "storage/blocks/int_unpack.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "storage/blocks/int_format.h"

namespace tallyd {
namespace {

using Group = std::array<int64_t, kIntGroup>;

// The bits of an integer by themselves, the lowest first.
uint64_t BitsAt(const std::string& packed, size_t first, unsigned width) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < width; ++i) {
    const size_t at = first + i;
    bits |= uint64_t{static_cast<uint8_t>(packed[at / 8]) >> at % 8 & 1u} << i;
  }
  return bits;
}

// Whatever follows the packed ones: none of it shows.
std::string AnyBytes(unsigned width, std::mt19937_64* random) {
  std::string bytes(kIntGroup * width / 8 + kUnpackReadsBeyond, '\0');
  for (char& byte : bytes) byte = static_cast<char>((*random)());
  return bytes;
}

TEST(IntUnpackTest, EachIsTheBaseAndWhatItsBitsSay) {
  std::mt19937_64 random(1);
  for (unsigned width = 0; width <= kMaxIntWidth; ++width) {
    const std::string packed = AnyBytes(width, &random);
    const uint64_t base = random();
    for (const size_t count : {kIntGroup, kIntGroup - 1, size_t{1}}) {
      Group found{};
      UnpackInts({packed.data(), width, base}, std::span(found).first(count));
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(static_cast<uint64_t>(found[i]), base + BitsAt(packed, i * width, width))
            << "width " << width << ", place " << i;
      }
    }
  }
}

TEST(IntUnpackTest, SumsAreThoseOfTheIntegersOneByOne) {
  std::mt19937_64 random(2);
  for (unsigned width = 0; width <= kMaxSummedWidth; ++width) {
    for (int round = 0; round < 20; ++round) {
      std::string packed = AnyBytes(width, &random);
      if (round == 0) packed.assign(packed.size(), '\xff');
      const uint64_t base = random();
      const uint64_t first = random();
      Group wanted{};
      uint64_t sum = first;
      for (size_t i = 0; i < kIntGroup; ++i) {
        wanted[i] = static_cast<int64_t>(sum += base + BitsAt(packed, i * width, width));
      }
      for (const auto unpack : {&UnpackSums, &UnpackSumsPlainly}) {
        uint64_t last = first;
        Group sums{};
        unpack({packed.data(), width, base}, &last, sums.data());
        ASSERT_EQ(sums, wanted) << "width " << width;
        EXPECT_EQ(last, sum);
      }
    }
  }
}

}  // namespace
}  // namespace tallyd
