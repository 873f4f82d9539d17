// Integers side by side, looked at as a whole: what they add up to, between which two they lie,
// whether each is greater than the one before. Exact, at the speed of memory where the processor
// can (AVX2, told when it runs); everywhere the same answers.
//
// Pure functions, thread-safe.
#ifndef TALLYD_CONFIG_VALUES_INTEGERS_H_
#define TALLYD_CONFIG_VALUES_INTEGERS_H_

#include <cstdint>
#include <span>

#include "config/values/aggregate.h"

namespace tallyd {

struct Extremes {
  int64_t least = 0;
  int64_t greatest = 0;
};

Int128 SumOf(std::span<const int64_t> numbers);
// REQUIRES: not empty.
Extremes ExtremesOf(std::span<const int64_t> numbers);
// Of numbers that are cut into stretches, counts[i] of them in the i-th, what each comes to.
// REQUIRES: counts add up to as many as there are numbers; what sums come to on the way is int64.
void SumEach(std::span<const int64_t> numbers, std::span<const uint32_t> counts, int64_t* sums);
// REQUIRES: counts add up as for SumEach, and no stretch is empty.
void LeastOfEach(std::span<const int64_t> numbers, std::span<const uint32_t> counts,
                 int64_t* least);
void GreatestOfEach(std::span<const int64_t> numbers, std::span<const uint32_t> counts,
                    int64_t* greatest);
// Whether all lie between the two, both included. REQUIRES: 0 <= most - least < 2^63.
bool LieWithin(std::span<const int64_t> numbers, int64_t least, int64_t most);
// Whether each is greater than the one before it.
bool Ascend(std::span<const int64_t> numbers);
// first, first + step, ... REQUIRES: all of them are int64.
void FillEvenly(std::span<int64_t> numbers, int64_t first, int64_t step);
// Multiplies each. REQUIRES: all lie within 0 and the greatest int64 / factor; factor < 2^31.
void MultiplyAll(std::span<int64_t> numbers, int64_t factor);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_INTEGERS_H_
