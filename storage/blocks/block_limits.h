// What a block may hold, in one place for those who make blocks and those who read them: when it is
// full, which is what makes reading one cell of it costly, or itself hard to hold; and what it has
// at most. A reader refuses what is beyond that, and a writer never makes it: an entry that would
// not fit is written as several, and what one row has at one time goes on in the next block
// (storage/FORMAT.md, Blocks).
#ifndef TALLYD_STORAGE_BLOCKS_BLOCK_LIMITS_H_
#define TALLYD_STORAGE_BLOCKS_BLOCK_LIMITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

// A reader's bounds. DO NOT LOWER THESE VALUES: there are blocks that reach them.
inline constexpr uint32_t kMaxBlockEntries = 65'536;
inline constexpr uint32_t kMaxBlockColumns = 65'536;
inline constexpr uint32_t kMaxBlockShapes = kMaxBlockEntries;
inline constexpr size_t kMostCells = size_t{1} << 24;  // Of a writer; a reader has no such bound.
// Of one text when it is read back: the names of all columns, or the values of one.
inline constexpr size_t kMaxTextBytes = size_t{1} << 30;
// Stems share their beginnings, so that a few bytes could promise very much.
inline constexpr size_t kMaxStemBytes = size_t{1} << 24;

// BlockBounds: a writer's. Beyond them the entries of one row and time, which a full block takes
// all the same, go on in the next one. Tests make them small, nobody makes them greater.
struct BlockBounds {
  size_t entries = kMaxBlockEntries;
  size_t columns = kMaxBlockColumns;
  size_t text_bytes = kMaxTextBytes / 4;  // Of all values, and of the names of their columns.

  // Whatever is in a block that is not full, an entry within these two fits beside it.
  size_t entry_columns() const { return std::max<size_t>(columns / 2, 1); }
  size_t entry_bytes() const { return text_bytes / 4; }
  size_t full_columns() const { return std::min(kFullColumns, entry_columns()); }
};
static_assert(kMostEntries < kMaxBlockEntries);
static_assert(kFullColumns <= kMaxBlockColumns / 2);
// Names of half of the columns a block may have, of 16 KiB each, and all that is there before.
static_assert(kMaxBlockColumns / 2 * size_t{16'384} + kMaxTextBytes / 4 + kMaxTextBytes / 16 <
              kMaxTextBytes);
static_assert(kFullTextBytes * 16 <= kMaxStemBytes);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_BLOCK_LIMITS_H_
