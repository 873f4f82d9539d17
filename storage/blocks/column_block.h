// ColumnBlock: a column block read back (storage/FORMAT.md, Blocks). Open takes the block's head
// and gives its entries' keys, times and shapes; each column's stream is given and decoded when it
// is asked for. Which columns an entry has tells its shape or, where that is shorter, each column's
// presence; PresenceOf tells it of either. Reads no files. Whatever the bytes are, the answer is
// right or kCorruption: checksums guard the head and each stream, and nothing is sized by a number
// that was not checked.
#ifndef TALLYD_STORAGE_BLOCKS_COLUMN_BLOCK_H_
#define TALLYD_STORAGE_BLOCKS_COLUMN_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/blocks/block_limits.h"
#include "storage/blocks/block_schema.h"
#include "storage/blocks/block_times.h"
#include "storage/blocks/key_runs.h"
#include "storage/blocks/presence.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// What writer and reader of column blocks agree on beside the codecs (storage/FORMAT.md, Blocks).
inline constexpr uint8_t kShapesVersion = 2;
inline constexpr uint8_t kPresenceVersion = 3;
inline constexpr uint8_t kPartVersion = 4;  // By shapes.
inline constexpr size_t kChecksumBytes = sizeof(uint32_t);

// The lower half of XXH3.
uint32_t BlockChecksum(std::string_view bytes);
// Whether a column's stream has the checksum that it begins with.
bool IsSoundStream(std::string_view stream);

// The values of one column of a block.
struct BlockColumn {
  ColumnRef name;
  const ColumnData* data = nullptr;
  const Presence* presence = nullptr;  // Null: every entry has a value.

  bool Has(uint32_t entry) const { return presence == nullptr || presence->Has(entry); }
  // The place in the data of the entry's value, if it has one: how many entries before it do.
  uint32_t PlaceOf(uint32_t entry) const {
    return presence == nullptr ? entry : presence->PlaceOf(entry);
  }
};

// Which entry: the row, the time of its cells, and its place in the order of commits.
struct EntryId {
  std::string_view row_key;
  TimeUs time = 0;
  uint64_t sequence = 0;
};

// Times and sequences of entries that follow each other; both of one size.
struct RunEntries {
  uint32_t first = 0;  // The first one's place in its block.
  std::span<const TimeUs> times;
  std::span<const uint64_t> sequences;

  RunEntries First(size_t count) const {
    return {first, times.first(count), sequences.first(count)};
  }
};

class ColumnBlock {
 public:
  // Where a column's stream is in the block's bytes.
  struct Stream {
    uint32_t offset = 0;
    uint32_t size = 0;
  };

  ColumnBlock();
  ~ColumnBlock();
  ColumnBlock(ColumnBlock&&) noexcept;
  ColumnBlock& operator=(ColumnBlock&&) noexcept;

  // Replaces what was held; buffers are used again. `head` need not outlive the call. Keeps the
  // schema object of the block before where the bytes of both are the same.
  Status Open(std::string_view head);

  uint32_t entries() const;
  const std::shared_ptr<const BlockSchema>& schema() const;
  std::span<const KeyRun> runs() const;
  const BlockTimes& times() const;
  uint32_t shape_of(uint32_t entry) const;
  bool has_one_shape() const;
  // How many values the shapes of all entries come to. Not to be asked of a block by presence.
  uint64_t cells() const;
  uint64_t sequence_of(uint32_t entry) const;
  std::span<const uint64_t> sequences() const;  // Of the entries; worked out at the first call.
  // Whether some entries have the same key and time as their neighbours, written by later commits:
  // then a cell may occur twice, and the one with the greater sequence counts.
  bool has_rewrites() const;
  // Whether what its first row has at its first time began in the block before, or what its last
  // row has at its last time goes on in the next one.
  bool is_part() const;

  // The row key of an entry; *key is replaced.
  void GetKey(uint32_t entry, std::string* key) const;
  // The run that the entry is in.
  const KeyRun& RunOf(uint32_t entry) const;
  // The first entry whose row key is at or after `key`; entries() if none is.
  uint32_t LowerBound(std::string_view key) const;
  // The first entry of the entry's row, and the first after it.
  uint32_t RowBegin(uint32_t entry) const;
  uint32_t RowEnd(uint32_t entry) const;

  // By number of schema()->columns.
  Stream StreamOf(uint32_t column) const;
  // `stream` is StreamOf's part of the block's bytes, and need not outlive the call.
  Status Decode(uint32_t column, std::string_view stream, ColumnData* data);
  // Which entries have the column; null where all do. Until the block is opened again. By presence
  // the column must have been decoded; by shapes it is worked out at the first call.
  const Presence* PresenceOf(uint32_t column) const;
  // After all columns of a block by presence were decoded: kCorruption if an entry has none.
  Status CheckEntriesHaveCells() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_COLUMN_BLOCK_H_
