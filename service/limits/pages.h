// The sizes by which answers are given, whoever speaks them.
#ifndef TALLYD_SERVICE_LIMITS_PAGES_H_
#define TALLYD_SERVICE_LIMITS_PAGES_H_

#include <cstddef>
#include <cstdint>

namespace tallyd {

// Pages of answers without `limit`, and the most that one may ask for.
inline constexpr uint64_t kDefaultLimit = 10'000;
inline constexpr uint64_t kMaxLimit = 1'000'000;
// What whoever writes a long answer aims for at a time.
inline constexpr size_t kChunkBytes = 128u << 10;
// A scan holds back space and the engine's reopening: a stream whose client is slow opens another.
inline constexpr int64_t kMaxScanAgeUs = 5'000'000;

}  // namespace tallyd

#endif  // TALLYD_SERVICE_LIMITS_PAGES_H_
