// What the processor has, told when the program runs, so that one program serves all processors.
#ifndef TALLYD_CONFIG_VALUES_PROCESSOR_H_
#define TALLYD_CONFIG_VALUES_PROCESSOR_H_

#if defined(__x86_64__)
#define TALLYD_HAS_X86 1
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

#if TALLYD_HAS_X86
// Whether PDEP and PEXT are fast: AMD's before Zen 3 (families 15h and 17h) take a step for each
// bit. False until it is known.
inline const bool kMovesBits =
    __builtin_cpu_supports("bmi2") != 0 &&
    (__builtin_cpu_is("intel") != 0 ||
     (__builtin_cpu_is("amd") != 0 && __builtin_cpu_is("amdfam15h") == 0 &&
      __builtin_cpu_is("amdfam17h") == 0));
#endif

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_PROCESSOR_H_
