// What the processor has, told when the program runs, so that one program serves all processors.
#ifndef TALLYD_CONFIG_VALUES_PROCESSOR_H_
#define TALLYD_CONFIG_VALUES_PROCESSOR_H_

#if defined(__x86_64__)
#define TALLYD_HAS_X86 1
#else
#define TALLYD_HAS_X86 0
#endif

#include <cstdint>

namespace tallyd {

inline bool HasAvx2() {
#if TALLYD_HAS_X86
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

// Whether PDEP and PEXT are fast: AMD's before Zen 3 (families 15h and 17h) take a step for each
// bit. False until it is known.
#if TALLYD_HAS_X86
inline const bool kMovesBits =
    __builtin_cpu_supports("bmi2") != 0 &&
    (__builtin_cpu_is("intel") != 0 ||
     (__builtin_cpu_is("amd") != 0 && __builtin_cpu_is("amdfam15h") == 0 &&
      __builtin_cpu_is("amdfam17h") == 0));
#else
inline constexpr bool kMovesBits = false;
#endif

// REQUIRES, both: kMovesBits. The lowest bits to those of the mask, in their order, and the other
// way. Not the compiler's own functions, which are for code that has the instructions anywhere;
// volatile, so that none comes before the question whether they are there.
inline uint64_t MoveBitsApart(uint64_t v, [[maybe_unused]] uint64_t mask) {
#if TALLYD_HAS_X86
  asm volatile("pdepq %2, %1, %0" : "=r"(v) : "r"(v), "r"(mask));
#endif
  return v;
}
inline uint64_t MoveBitsTogether(uint64_t v, [[maybe_unused]] uint64_t mask) {
#if TALLYD_HAS_X86
  asm volatile("pextq %2, %1, %0" : "=r"(v) : "r"(v), "r"(mask));
#endif
  return v;
}

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_PROCESSOR_H_
