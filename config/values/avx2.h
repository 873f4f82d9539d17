// For code that has a second way with AVX2, where the processor has it:
//
//   #if TALLYD_HAS_X86
//   TALLYD_AVX2 void AddUpWide(...) { _mm256_... }
//   #endif
//   if (HasAvx2()) ...
//
// Told when it runs, so that one program serves all processors.
#ifndef TALLYD_CONFIG_VALUES_AVX2_H_
#define TALLYD_CONFIG_VALUES_AVX2_H_

#if defined(__x86_64__)
#include <immintrin.h>
#define TALLYD_HAS_X86 1
#define TALLYD_AVX2 __attribute__((target("avx2")))
#else
#define TALLYD_HAS_X86 0
#endif

namespace tallyd {

inline bool HasAvx2() {
#if TALLYD_HAS_X86
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_AVX2_H_
