#include "config/values/integers.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "config/values/avx2.h"

namespace tallyd {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Most sums are int64, too.
Int128 PlainSum(const int64_t* at, size_t count) {
  int64_t small = 0;
  bool overflows = false;
  for (size_t i = 0; i < count; ++i) overflows |= __builtin_add_overflow(small, at[i], &small);
  if (!overflows) return small;
  Int128 sum = 0;
  for (size_t i = 0; i < count; ++i) sum += at[i];
  return sum;
}

void Widen(const int64_t* at, size_t count, Extremes* of) {
  for (size_t i = 0; i < count; ++i) {
    of->least = std::min(of->least, at[i]);
    of->greatest = std::max(of->greatest, at[i]);
  }
}

template <bool kGreatest>
int64_t PlainBest(const int64_t* at, size_t count) {
  return kGreatest ? *std::max_element(at, at + count) : *std::min_element(at, at + count);
}

// The sign bit is set where one lies without: less than the least as an unsigned number, or more
// than the most.
uint64_t Without(const int64_t* at, size_t count, uint64_t least, uint64_t width) {
  uint64_t without = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t above = static_cast<uint64_t>(at[i]) - least;
    without |= above | (width - above);
  }
  return without;
}

bool PlainlyAscend(const int64_t* at, size_t count) {
  bool ascend = true;
  for (size_t i = 1; i < count; ++i) ascend &= at[i - 1] < at[i];
  return ascend;
}

#if TALLYD_HAS_X86

// Fewer are not worth the set-up.
constexpr size_t kLanes = 4;
constexpr size_t kWorthIt = 4 * kLanes;

bool GoesWide(size_t count) { return count >= kWorthIt && HasAvx2(); }

TALLYD_AVX2 inline __m256i Load(const int64_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
TALLYD_AVX2 inline void Store(__m256i from, int64_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), from);
}

// Of so many the halves of each lane cannot overflow.
constexpr size_t kSummedAtOnce = size_t{1} << 20;

// As unsigned numbers 2^63 above the signed ones, cut into halves that are added up apart.
// REQUIRES: count is a multiple of kLanes.
TALLYD_AVX2 Int128 WideSum(const int64_t* at, size_t count) {
  const __m256i sign = _mm256_set1_epi64x(kLeast);
  const __m256i low_half = _mm256_set1_epi64x(0xffff'ffff);
  __m256i low = _mm256_setzero_si256();
  __m256i high = _mm256_setzero_si256();
  for (size_t i = 0; i < count; i += kLanes) {
    const __m256i number = _mm256_xor_si256(Load(at + i), sign);
    low = _mm256_add_epi64(low, _mm256_and_si256(number, low_half));
    high = _mm256_add_epi64(high, _mm256_srli_epi64(number, 32));
  }
  int64_t lows[kLanes];
  int64_t highs[kLanes];
  Store(low, lows);
  Store(high, highs);
  Int128 sum = static_cast<Int128>(count) * kLeast;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    sum += lows[lane] + (static_cast<Int128>(highs[lane]) << 32);
  }
  return sum;
}

// REQUIRES: count is a multiple of kLanes.
TALLYD_AVX2 void WidenMuch(const int64_t* at, size_t count, Extremes* of) {
  __m256i least = _mm256_set1_epi64x(of->least);
  __m256i greatest = _mm256_set1_epi64x(of->greatest);
  for (size_t i = 0; i < count; i += kLanes) {
    const __m256i number = Load(at + i);
    least = _mm256_blendv_epi8(least, number, _mm256_cmpgt_epi64(least, number));
    greatest = _mm256_blendv_epi8(greatest, number, _mm256_cmpgt_epi64(number, greatest));
  }
  int64_t leasts[kLanes];
  int64_t greatests[kLanes];
  Store(least, leasts);
  Store(greatest, greatests);
  Widen(leasts, kLanes, of);
  Widen(greatests, kLanes, of);
}

// The last few of a stretch, which are fewer than kLanes, one by one.
TALLYD_AVX2 void SumEachWide(const int64_t* at, std::span<const uint32_t> counts, int64_t* sums) {
  for (const uint32_t count : counts) {
    __m256i lanes = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) lanes = _mm256_add_epi64(lanes, Load(at + i));
    const __m128i halves =
        _mm_add_epi64(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    const __m128i all = _mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves));
    int64_t sum = _mm_cvtsi128_si64(all);
    for (; i < count; ++i) sum += at[i];
    *sums++ = sum;
    at += count;
  }
}

TALLYD_AVX2 inline __m256i Lesser(__m256i a, __m256i b) {
  return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b));
}
TALLYD_AVX2 inline __m256i Greater(__m256i a, __m256i b) {
  return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(b, a));
}

template <bool kGreatest>
TALLYD_AVX2 inline __m256i Better(__m256i a, __m256i b) {
  return kGreatest ? Greater(a, b) : Lesser(a, b);
}

// Of so many the next does not wait for what the one before it came to.
constexpr size_t kAtOnce = 4 * kLanes;

// REQUIRES: count >= kLanes.
template <bool kGreatest>
TALLYD_AVX2 inline int64_t BestOfOne(const int64_t* at, size_t count) {
  __m256i best = Load(at);
  size_t i = kLanes;
  if (count >= kAtOnce) {
    __m256i others[] = {Load(at + kLanes), Load(at + 2 * kLanes), Load(at + 3 * kLanes)};
    for (i = kAtOnce; i + kAtOnce <= count; i += kAtOnce) {
      best = Better<kGreatest>(best, Load(at + i));
      others[0] = Better<kGreatest>(others[0], Load(at + i + kLanes));
      others[1] = Better<kGreatest>(others[1], Load(at + i + 2 * kLanes));
      others[2] = Better<kGreatest>(others[2], Load(at + i + 3 * kLanes));
    }
    best = Better<kGreatest>(Better<kGreatest>(best, others[0]),
                             Better<kGreatest>(others[1], others[2]));
  }
  // The last few are met with some of those before them.
  for (; i < count; i += kLanes) {
    best = Better<kGreatest>(best, Load(at + std::min(i, count - kLanes)));
  }
  constexpr int kSwapHalves = 0x4e;
  constexpr int kSwapPairs = 0xb1;
  best = Better<kGreatest>(best, _mm256_permute4x64_epi64(best, kSwapHalves));
  best = Better<kGreatest>(best, _mm256_permute4x64_epi64(best, kSwapPairs));
  return _mm_cvtsi128_si64(_mm256_castsi256_si128(best));
}

template <bool kGreatest>
TALLYD_AVX2 void BestOfEachWide(const int64_t* at, std::span<const uint32_t> counts, int64_t* to) {
  for (const uint32_t count : counts) {
    *to++ = count >= kLanes ? BestOfOne<kGreatest>(at, count) : PlainBest<kGreatest>(at, count);
    at += count;
  }
}

// REQUIRES: count is a multiple of kLanes.
TALLYD_AVX2 uint64_t WithoutMuch(const int64_t* at, size_t count, uint64_t least, uint64_t width) {
  const __m256i lowest = _mm256_set1_epi64x(static_cast<int64_t>(least));
  const __m256i most = _mm256_set1_epi64x(static_cast<int64_t>(width));
  __m256i without = _mm256_setzero_si256();
  for (size_t i = 0; i < count; i += kLanes) {
    const __m256i above = _mm256_sub_epi64(Load(at + i), lowest);
    without = _mm256_or_si256(without, _mm256_or_si256(above, _mm256_sub_epi64(most, above)));
  }
  return _mm256_movemask_pd(_mm256_castsi256_pd(without)) != 0 ? ~uint64_t{0} : 0;
}

// REQUIRES: count is a multiple of kLanes, and one more number is there.
TALLYD_AVX2 bool AscendMuch(const int64_t* at, size_t count) {
  __m256i ascend = _mm256_set1_epi64x(-1);
  for (size_t i = 0; i < count; i += kLanes) {
    ascend = _mm256_and_si256(ascend, _mm256_cmpgt_epi64(Load(at + i + 1), Load(at + i)));
  }
  return _mm256_movemask_epi8(ascend) == -1;
}

// By halves, whose products fit. REQUIRES: count is a multiple of kLanes.
TALLYD_AVX2 void MultiplyMuch(int64_t* at, size_t count, int64_t factor) {
  const __m256i by = _mm256_set1_epi64x(factor);
  for (size_t i = 0; i < count; i += kLanes) {
    const __m256i number = Load(at + i);
    const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(number, 32), by);
    Store(_mm256_add_epi64(_mm256_mul_epu32(number, by), _mm256_slli_epi64(high, 32)), at + i);
  }
}

// REQUIRES: count is a multiple of kLanes.
TALLYD_AVX2 void FillMuch(int64_t* at, size_t count, uint64_t first, uint64_t step) {
  const auto place = [&](uint64_t i) { return static_cast<int64_t>(first + i * step); };
  __m256i number = _mm256_setr_epi64x(place(0), place(1), place(2), place(3));
  const __m256i more = _mm256_set1_epi64x(static_cast<int64_t>(kLanes * step));
  for (size_t i = 0; i < count; i += kLanes) {
    Store(number, at + i);
    number = _mm256_add_epi64(number, more);
  }
}

#else

constexpr size_t kLanes = 1;
constexpr size_t kSummedAtOnce = 1;
constexpr bool GoesWide(size_t) { return false; }
Int128 WideSum(const int64_t* at, size_t count) { return PlainSum(at, count); }
void WidenMuch(const int64_t* at, size_t count, Extremes* of) { Widen(at, count, of); }
void SumEachWide(const int64_t*, std::span<const uint32_t>, int64_t*) {}
template <bool kGreatest>
void BestOfEachWide(const int64_t*, std::span<const uint32_t>, int64_t*) {}
uint64_t WithoutMuch(const int64_t* at, size_t count, uint64_t least, uint64_t width) {
  return Without(at, count, least, width);
}
bool AscendMuch(const int64_t* at, size_t count) { return PlainlyAscend(at, count); }
void MultiplyMuch(int64_t*, size_t, int64_t) {}
void FillMuch(int64_t*, size_t, uint64_t, uint64_t) {}

#endif

template <bool kGreatest>
void BestOfEach(std::span<const int64_t> numbers, std::span<const uint32_t> counts, int64_t* to) {
  if (GoesWide(numbers.size())) return BestOfEachWide<kGreatest>(numbers.data(), counts, to);
  const int64_t* at = numbers.data();
  for (const uint32_t count : counts) {
    *to++ = PlainBest<kGreatest>(at, count);
    at += count;
  }
}

}  // namespace

Int128 SumOf(std::span<const int64_t> numbers) {
  Int128 sum = 0;
  size_t done = 0;
  while (GoesWide(numbers.size() - done)) {
    const size_t count = std::min(numbers.size() - done, kSummedAtOnce) / kLanes * kLanes;
    sum += WideSum(numbers.data() + done, count);
    done += count;
  }
  return sum + PlainSum(numbers.data() + done, numbers.size() - done);
}

Extremes ExtremesOf(std::span<const int64_t> numbers) {
  Extremes of{kMost, kLeast};
  size_t done = 0;
  if (GoesWide(numbers.size())) {
    done = numbers.size() / kLanes * kLanes;
    WidenMuch(numbers.data(), done, &of);
  }
  Widen(numbers.data() + done, numbers.size() - done, &of);
  return of;
}

void SumEach(std::span<const int64_t> numbers, std::span<const uint32_t> counts, int64_t* sums) {
  if (GoesWide(numbers.size())) return SumEachWide(numbers.data(), counts, sums);
  const int64_t* at = numbers.data();
  for (const uint32_t count : counts) {
    *sums++ = std::accumulate(at, at + count, int64_t{0});
    at += count;
  }
}

void LeastOfEach(std::span<const int64_t> numbers, std::span<const uint32_t> counts,
                 int64_t* least) {
  BestOfEach<false>(numbers, counts, least);
}

void GreatestOfEach(std::span<const int64_t> numbers, std::span<const uint32_t> counts,
                    int64_t* greatest) {
  BestOfEach<true>(numbers, counts, greatest);
}

bool LieWithin(std::span<const int64_t> numbers, int64_t least, int64_t most) {
  const auto lowest = static_cast<uint64_t>(least);
  const uint64_t width = static_cast<uint64_t>(most) - lowest;
  uint64_t without = 0;
  size_t done = 0;
  if (GoesWide(numbers.size())) {
    done = numbers.size() / kLanes * kLanes;
    without = WithoutMuch(numbers.data(), done, lowest, width);
  }
  without |= Without(numbers.data() + done, numbers.size() - done, lowest, width);
  return static_cast<int64_t>(without) >= 0;
}

bool Ascend(std::span<const int64_t> numbers) {
  size_t done = 0;
  if (GoesWide(numbers.size())) {
    done = (numbers.size() - 1) / kLanes * kLanes;
    if (!AscendMuch(numbers.data(), done)) return false;
  }
  return PlainlyAscend(numbers.data() + done, numbers.size() - done);
}

void FillEvenly(std::span<int64_t> numbers, int64_t first, int64_t step) {
  const auto from = static_cast<uint64_t>(first);
  const auto by = static_cast<uint64_t>(step);
  size_t done = 0;
  if (GoesWide(numbers.size())) {
    done = numbers.size() / kLanes * kLanes;
    FillMuch(numbers.data(), done, from, by);
  }
  for (; done < numbers.size(); ++done) numbers[done] = static_cast<int64_t>(from + done * by);
}

void MultiplyAll(std::span<int64_t> numbers, int64_t factor) {
  size_t done = 0;
  if (GoesWide(numbers.size())) {
    done = numbers.size() / kLanes * kLanes;
    MultiplyMuch(numbers.data(), done, factor);
  }
  for (int64_t& number : numbers.subspan(done)) number *= factor;
}

}  // namespace tallyd
