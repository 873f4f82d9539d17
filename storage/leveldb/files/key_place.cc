#include "storage/leveldb/files/key_place.h"

#include <bit>
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <utility>

#include "config/values/processor.h"

namespace tallyd {
namespace {

// From so many on digits are quicker, while there are few of them.
constexpr size_t kMany = 768;
constexpr unsigned kMostDigitBits = 11;
constexpr unsigned kMostDigits = 4;
constexpr unsigned kFewDigits = 2;
static_assert(kMostDigits * kMostDigitBits == kMostDigitizedBits);

}  // namespace

// The bits in which heads differ, moved together, are a smaller number that sorts like them: of ten
// decimal digits it has four for each.
void KeyPlaceSorter::Sort(std::span<KeyPlace> places, uint64_t differing) {
  const auto bits = static_cast<unsigned>(std::popcount(differing));
  if (kMovesBits && places.size() >= kMany && bits <= kMostDigitizedBits) {
    for (KeyPlace& place : places) place.head = MoveBitsTogether(place.head, differing);
    return SortByDigits(places, bits);
  }
  boost::sort::pdqsort_branchless(
      places.begin(), places.end(),
      [](const KeyPlace& a, const KeyPlace& b) { return a.head < b.head; });
}

// Radix sort, the lowest digit first (LSD). Each digit moves all to the other memory: their number
// is even, so that they end in `places`.
void KeyPlaceSorter::SortByDigits(std::span<KeyPlace> places, unsigned bits) {
  const unsigned digits = bits > kFewDigits * kMostDigitBits ? kMostDigits : kFewDigits;
  const unsigned digit_bits = (bits + digits - 1) / digits;
  const size_t values = size_t{1} << digit_bits;
  counts_.assign(digits * values, 0);
  for (const KeyPlace& place : places) {
    for (unsigned i = 0; i < digits; ++i) {
      ++counts_[i * values + (place.head >> i * digit_bits & (values - 1))];
    }
  }
  spare_.resize(places.size());
  std::span<KeyPlace> from = places;
  std::span<KeyPlace> to = spare_;
  for (unsigned i = 0; i < digits; ++i) {
    const std::span<uint32_t> next = std::span(counts_).subspan(i * values, values);
    uint32_t begin = 0;
    for (uint32_t& count : next) begin += std::exchange(count, begin);
    for (const KeyPlace& place : from) {
      to[next[place.head >> i * digit_bits & (values - 1)]++] = place;
    }
    std::swap(from, to);
  }
}

}  // namespace tallyd
