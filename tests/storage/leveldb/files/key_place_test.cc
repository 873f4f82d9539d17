// Places are sorted by their heads, however many they are and wherever these differ.
#include "storage/leveldb/files/key_place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace tallyd {
namespace {

// Random in the bits of the mask, and alike in the others.
std::vector<uint64_t> HeadsIn(uint64_t mask, size_t count, std::mt19937_64* random) {
  const uint64_t alike = (*random)();
  std::vector<uint64_t> heads(count);
  for (uint64_t& head : heads) head = (alike & ~mask) | ((*random)() & mask);
  return heads;
}

void ExpectSorted(const std::vector<uint64_t>& heads, uint64_t differing, KeyPlaceSorter* sorter) {
  std::vector<KeyPlace> places;
  std::vector<std::pair<uint64_t, uint32_t>> expected;
  for (uint32_t i = 0; i < heads.size(); ++i) {
    places.push_back({heads[i], i});
    expected.emplace_back(heads[i], i);
  }
  sorter->Sort(places, differing);
  // Of one head in any order: by the heads that the entries had.
  std::ranges::stable_sort(expected);
  std::vector<std::pair<uint64_t, uint32_t>> sorted;
  for (size_t i = 0; i < places.size(); ++i) {
    sorted.emplace_back(heads[places[i].entry], places[i].entry);
    ASSERT_EQ(sorted[i].first, expected[i].first) << i;
    if (i == 0) continue;
    EXPECT_EQ(places[i].head == places[i - 1].head, expected[i].first == expected[i - 1].first);
    EXPECT_LE(places[i - 1].head, places[i].head);
  }
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, expected);
}

TEST(KeyPlaceSorterTest, PlacesAreSortedByTheirHeads) {
  std::mt19937_64 random(1);
  const std::vector<uint64_t> masks = {
      0,  // All alike.
      1,
      uint64_t{1} << 63,
      0x0f0f'0f0f'0f0f'0f0f,  // Decimal digits.
      0x1f1f'0000'1f1f'1f1f,  // Letters.
      0x0000'07ff'0000'0000,
      0x8000'07ff'0000'0000,
      0x0000'0fff'ffff'ffff,
      0x0000'1fff'ffff'ffff,  // One bit more than is sorted by digits.
      ~uint64_t{0}};
  KeyPlaceSorter sorter;
  for (const uint64_t mask : masks) {
    for (const size_t count : {0, 1, 5000, 2, 100, 767, 768}) {
      SCOPED_TRACE(testing::Message() << std::hex << mask << std::dec << ", " << count);
      ExpectSorted(HeadsIn(mask, count, &random), mask, &sorter);
    }
  }
}

TEST(KeyPlaceSorterTest, BitsMayBeNamedInWhichNoneDiffers) {
  std::mt19937_64 random(2);
  KeyPlaceSorter sorter;
  ExpectSorted(HeadsIn(0x00ff'0000'00ff'0000, 2000, &random), 0x00ff'00f0'00ff'000f, &sorter);
}

}  // namespace
}  // namespace tallyd
