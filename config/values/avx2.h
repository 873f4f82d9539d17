// For code that has a second way with AVX2, where the processor has it:
//
//   #if TALLYD_HAS_X86
//   TALLYD_AVX2 void AddUpWide(...) { _mm256_... }
//   #endif
//   if (HasAvx2()) ...
#ifndef TALLYD_CONFIG_VALUES_AVX2_H_
#define TALLYD_CONFIG_VALUES_AVX2_H_

#include "config/values/processor.h"

#if TALLYD_HAS_X86
#include <immintrin.h>
#define TALLYD_AVX2 __attribute__((target("avx2")))
#endif

#endif  // TALLYD_CONFIG_VALUES_AVX2_H_
