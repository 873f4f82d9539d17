// When a block is full: what makes reading one cell of it costly, or itself hard to hold.
#ifndef TALLYD_STORAGE_BLOCKS_BLOCK_LIMITS_H_
#define TALLYD_STORAGE_BLOCKS_BLOCK_LIMITS_H_

#include <cstddef>

namespace tallyd {

inline constexpr size_t kFullEntries = 2048;
inline constexpr size_t kFullCells = 512u << 10;
inline constexpr size_t kFullTextBytes = 1u << 20;
inline constexpr size_t kFullColumns = 4096;

// Long runs of few columns are mostly read as a whole: of those a block takes more, until it has
// many cells, so that what each block costs by itself is shared by more values.
inline constexpr size_t kMostEntries = 2 * kFullEntries;
inline constexpr size_t kManyCells = 64u << 10;  // Bytes of text count, too.
inline constexpr size_t kLongRun = 256;

// Of how many entries a block is full that holds so many by now.
inline size_t FullAt(size_t entries, size_t runs, size_t cells_and_text) {
  const bool takes_more =
      entries >= kFullEntries && runs * kLongRun <= entries && cells_and_text < kManyCells;
  return takes_more ? kMostEntries : kFullEntries;
}

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_BLOCK_LIMITS_H_
