// How integers of a column block are stored (storage/FORMAT.md, Block files): what those who write
// and those who read them agree on. DO NOT CHANGE THESE VALUES.
#ifndef TALLYD_STORAGE_BLOCKS_INT_FORMAT_H_
#define TALLYD_STORAGE_BLOCKS_INT_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace tallyd {

inline constexpr size_t kIntGroup = 128;
inline constexpr unsigned kMaxIntWidth = 64;
// Beside the width, in a group's first byte.
inline constexpr uint8_t kHasIntOutliers = 0x80;

// How often differences are taken.
enum class IntOrder : uint8_t { kPlain = 0, kDelta = 1, kDeltaOfDelta = 2 };

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_INT_FORMAT_H_
