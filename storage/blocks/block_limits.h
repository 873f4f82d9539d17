// What writer and reader of column blocks agree on beside the codecs (storage/FORMAT.md, Blocks).
#ifndef TALLYD_STORAGE_BLOCKS_BLOCK_LIMITS_H_
#define TALLYD_STORAGE_BLOCKS_BLOCK_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tallyd {

inline constexpr uint8_t kBlockVersion = 2;
inline constexpr size_t kChecksumBytes = sizeof(uint32_t);
// No block has more; a reader refuses it. Writers stay far below.
inline constexpr uint32_t kMaxBlockEntries = 65'536;
inline constexpr uint32_t kMaxBlockColumns = 65'536;
inline constexpr uint32_t kMaxBlockShapes = 65'536;
inline constexpr uint32_t kNoShape = std::numeric_limits<uint32_t>::max();
// Times are stored in the largest of these, in microseconds, that divides all of them.
inline constexpr int64_t kTimeUnits[] = {1, 1000, 1'000'000};

// The lower half of XXH3.
uint32_t BlockChecksum(std::string_view bytes);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_BLOCK_LIMITS_H_
