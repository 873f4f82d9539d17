#include "storage/blocks/int_unpack.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "config/values/avx2.h"
#include "storage/blocks/int_format.h"

namespace tallyd {
namespace {

constexpr size_t kGroup = kIntGroup;

uint64_t LoadWord(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// Eight integers of any width take whole bytes, so that all offsets and shifts but that of the
// eight are known when this is compiled.
constexpr size_t kUnpackedAtOnce = 8;
constexpr unsigned kMaxWidthInWord = 56;  // And up to seven bits before it.
static_assert(kMaxSummedWidth <= kMaxWidthInWord);

// What is unpacked is the least of the group and so much more.
template <unsigned kWidth, size_t kPlace>
uint64_t More(const char* packed, uint64_t word) {
  constexpr uint64_t kMask = (uint64_t{1} << kWidth) - 1;
  if constexpr (kWidth <= 8) {
    return word >> kPlace * kWidth & kMask;
  } else {
    return LoadWord(packed + kPlace * kWidth / 8) >> kPlace * kWidth % 8 & kMask;
  }
}

template <unsigned kWidth, bool kSums, size_t... kPlaces>
void UnpackEight(const char* packed, uint64_t base, uint64_t* last, int64_t* to,
                 std::index_sequence<kPlaces...>) {
  const uint64_t word = kWidth <= 8 ? LoadWord(packed) : 0;
  if constexpr (kSums) {
    uint64_t sum = *last;
    ((to[kPlaces] = static_cast<int64_t>(sum += base + More<kWidth, kPlaces>(packed, word))), ...);
    *last = sum;
  } else {
    ((to[kPlaces] = static_cast<int64_t>(base + More<kWidth, kPlaces>(packed, word))), ...);
  }
}

template <unsigned kWidth, bool kSums>
void UnpackGroup(const char* packed, uint64_t base, uint64_t* last, int64_t* to) {
  for (size_t i = 0; i < kGroup; i += kUnpackedAtOnce, packed += kWidth) {
    UnpackEight<kWidth, kSums>(packed, base, last, to + i,
                               std::make_index_sequence<kUnpackedAtOnce>());
  }
}

template <bool kSums, size_t... kWidths>
constexpr auto UnpackersOf(std::index_sequence<kWidths...>) {
  return std::array{&UnpackGroup<static_cast<unsigned>(kWidths), kSums>...};
}
// The functions that unpack whole groups, by width; the second ones add each integer to *last, and
// put out what that makes.
constexpr auto kUnpackers = UnpackersOf<false>(std::make_index_sequence<kMaxWidthInWord + 1>());
constexpr auto kSummingUnpackers =
    UnpackersOf<true>(std::make_index_sequence<kMaxSummedWidth + 1>());

#if TALLYD_HAS_X86

// Sixteen integers of so many bits lie in the 16 bytes from their first one on, each in two that
// follow each other, and add up to less than 2^16.
constexpr unsigned kNarrow = 8;
constexpr size_t kNarrowAtOnce = 16;

// How sixteen narrow integers come to 16 bits each: by the two bytes that have one, moved up until
// nothing is above it, and then down.
struct Spread {
  std::array<uint8_t, 2 * kNarrowAtOnce> bytes;
  std::array<uint16_t, kNarrowAtOnce> up;
};
constexpr std::array<Spread, kNarrow + 1> kSpreads = [] {
  constexpr uint8_t kNoByte = 0x80;
  std::array<Spread, kNarrow + 1> spreads{};
  for (unsigned width = 1; width <= kNarrow; ++width) {
    for (unsigned place = 0; place < kNarrowAtOnce; ++place) {
      const unsigned first = place * width / 8;
      const bool has_next = first + 1 < kNarrowAtOnce;
      spreads[width].bytes[2 * place] = static_cast<uint8_t>(first);
      spreads[width].bytes[2 * place + 1] = has_next ? static_cast<uint8_t>(first + 1) : kNoByte;
      spreads[width].up[place] = static_cast<uint16_t>(1u << (16 - width - place * width % 8));
    }
  }
  return spreads;
}();

TALLYD_AVX2 inline __m256i Load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

// Each of sixteen numbers with those before it.
TALLYD_AVX2 inline __m256i AddUp(__m256i numbers) {
  numbers = _mm256_add_epi16(numbers, _mm256_slli_si256(numbers, 2));
  numbers = _mm256_add_epi16(numbers, _mm256_slli_si256(numbers, 4));
  numbers = _mm256_add_epi16(numbers, _mm256_slli_si256(numbers, 8));
  constexpr int kLowHalfUp = 0x08;  // And zeros below it.
  const __m256i low = _mm256_permute2x128_si256(numbers, numbers, kLowHalfUp);
  const __m256i last = _mm256_set1_epi16(0x0f0e);  // The bytes of a half's last number.
  return _mm256_add_epi16(numbers, _mm256_shuffle_epi8(low, last));
}

// Puts out the four numbers in the lower half of `fours`, each with `more`; the sums.
TALLYD_AVX2 inline __m256i PutFour(__m128i fours, __m256i more, int64_t* to) {
  const __m256i four = _mm256_add_epi64(_mm256_cvtepu16_epi64(fours), more);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), four);
  return four;
}

// REQUIRES: 0 < width <= kNarrow.
TALLYD_AVX2 void UnpackNarrowSums(const PackedInts& packed, uint64_t* last, int64_t* to) {
  const Spread& spread = kSpreads[packed.width];
  const __m256i bytes = Load(spread.bytes.data());
  const __m256i up = Load(spread.up.data());
  const __m128i down = _mm_cvtsi32_si128(static_cast<int>(16 - packed.width));
  const auto times = [&](uint64_t count) { return static_cast<int64_t>(packed.base * count); };
  const __m256i bases = _mm256_setr_epi64x(times(1), times(2), times(3), times(4));
  const __m256i four_bases = _mm256_set1_epi64x(times(4));
  __m256i sum = _mm256_set1_epi64x(static_cast<int64_t>(*last));
  const char* from = packed.bytes;
  const int64_t* const end = to + kGroup;
  for (; to != end; to += kNarrowAtOnce, from += 2 * size_t{packed.width}) {
    const __m256i sixteen =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    const __m256i raised = _mm256_mullo_epi16(_mm256_shuffle_epi8(sixteen, bytes), up);
    const __m256i more = AddUp(_mm256_srl_epi16(raised, down));
    const __m128i low = _mm256_castsi256_si128(more);
    const __m128i high = _mm256_extracti128_si256(more, 1);
    __m256i with_base = _mm256_add_epi64(sum, bases);
    PutFour(low, with_base, to);
    with_base = _mm256_add_epi64(with_base, four_bases);
    PutFour(_mm_srli_si128(low, 8), with_base, to + 4);
    with_base = _mm256_add_epi64(with_base, four_bases);
    PutFour(high, with_base, to + 8);
    with_base = _mm256_add_epi64(with_base, four_bases);
    constexpr int kLastEverywhere = 0xff;
    sum = _mm256_permute4x64_epi64(PutFour(_mm_srli_si128(high, 8), with_base, to + 12),
                                   kLastEverywhere);
  }
  *last = static_cast<uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(sum)));
}

#else

constexpr unsigned kNarrow = 0;
void UnpackNarrowSums(const PackedInts&, uint64_t*, int64_t*) {}

#endif

}  // namespace

void UnpackInts(const PackedInts& packed, std::span<int64_t> to) {
  const auto [bytes, width, base] = packed;
  if (width == 0) {
    std::fill(to.begin(), to.end(), static_cast<int64_t>(base));
    return;
  }
  if (to.size() == kGroup && width <= kMaxWidthInWord) {
    kUnpackers[width](bytes, base, nullptr, to.data());
    return;
  }
  const uint64_t mask = width == kMaxIntWidth ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  size_t bit = 0;
  if (width <= kMaxWidthInWord) {
    for (int64_t& value : to) {
      value = static_cast<int64_t>(base + (LoadWord(bytes + bit / 8) >> (bit % 8) & mask));
      bit += width;
    }
    return;
  }
  for (int64_t& value : to) {
    const char* from = bytes + bit / 8;
    const unsigned shift = bit % 8;
    uint64_t v = LoadWord(from) >> shift;
    if (shift > 0) v |= static_cast<uint64_t>(static_cast<uint8_t>(from[8])) << (64 - shift);
    value = static_cast<int64_t>(base + (v & mask));
    bit += width;
  }
}

void UnpackSums(const PackedInts& packed, uint64_t* last, int64_t* to) {
  if (packed.width > 0 && packed.width <= kNarrow && HasAvx2()) {
    UnpackNarrowSums(packed, last, to);
  } else {
    UnpackSumsPlainly(packed, last, to);
  }
}

void UnpackSumsPlainly(const PackedInts& packed, uint64_t* last, int64_t* to) {
  kSummingUnpackers[packed.width](packed.bytes, packed.base, last, to);
}

}  // namespace tallyd
