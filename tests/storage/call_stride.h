// Which of a test's very many cases a run tries: all of them or, where TALLYD_STRIDE=n is set, as
// the sanitized presets do, each n-th from a random one on, so that several runs try them all.
#ifndef TALLYD_TESTS_STORAGE_CALL_STRIDE_H_
#define TALLYD_TESTS_STORAGE_CALL_STRIDE_H_

#include <cstdint>
#include <cstdlib>
#include <random>

namespace tallyd {

inline uint64_t CallStride() {
  const char* const told = std::getenv("TALLYD_STRIDE");
  const uint64_t stride = told == nullptr ? 1 : std::strtoull(told, nullptr, 10);
  return stride == 0 ? 1 : stride;
}

// The first case, counted from 1.
inline uint64_t FirstCall() { return 1 + std::random_device{}() % CallStride(); }

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_CALL_STRIDE_H_
