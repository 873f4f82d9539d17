// Memory that is asked for before it is needed, so that nobody waits for it.
#ifndef TALLYD_CONFIG_VALUES_PREFETCH_H_
#define TALLYD_CONFIG_VALUES_PREFETCH_H_

#include <cstddef>

namespace tallyd {

inline constexpr size_t kCacheLineBytes = 64;

// The line of the cache that has the byte; any address will do. GCC takes a function that does
// nothing but __builtin_prefetch for one without effect, and leaves out its calls: hence the empty
// assembly, which is an effect.
[[gnu::always_inline]] inline void Prefetch(const void* byte) {
  __builtin_prefetch(byte);
  asm volatile("");
}

// All lines of `size` bytes.
[[gnu::always_inline]] inline void Prefetch(const char* bytes, size_t size) {
  for (size_t at = 0; at < size; at += kCacheLineBytes) Prefetch(bytes + at);
  if (size > 0) Prefetch(bytes + size - 1);
}

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_PREFETCH_H_
