// BlockBuilder: entries in order -> one column block (storage/FORMAT.md, Blocks): keys, times and
// the values of each column apart from each other, exact to the bit and to the type.
//
//   BlockBuilder block;
//   while (...) { if (block.IsFull()) Use(block.Finish()); block.Add(...); }
//
// What is within the builder's bounds a reader takes (block_limits.h).
//
// Its buffers are kept from block to block. Not thread-safe.
#ifndef TALLYD_STORAGE_BLOCKS_BLOCK_BUILDER_H_
#define TALLYD_STORAGE_BLOCKS_BLOCK_BUILDER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/blocks/block_limits.h"
#include "storage/blocks/column_block.h"
#include "storage/table_info.h"

namespace tallyd {

// A finished block. `bytes` is its head (keys, times, which columns) and then its columns' streams.
struct BuiltBlock {
  std::string_view bytes;  // Valid until the next Add.
  uint32_t head_size = 0;
  uint32_t entries = 0;
  uint32_t rows = 0;  // Distinct keys.
  uint32_t runs = 0;  // Of keys that differ by nothing but their time.
  uint32_t columns = 0;
  uint64_t cells = 0;
  std::string first_key;
  std::string last_key;
  TimeUs min_time = 0;
  TimeUs max_time = 0;
  uint64_t min_sequence = 0;
  uint64_t max_sequence = 0;
};

// What became of an entry as it is stored. kNothing: all of its values are absent.
enum class StoredEntry : uint8_t { kAdded, kNothing, kMalformed };

// What one entry of another block has: all of these columns, and what stands for their list, as in
// BlockBuilder::Add.
struct EntryColumns {
  const void* identity = nullptr;
  std::span<const BlockColumn> columns;
};

class BlockBuilder {
 public:
  explicit BlockBuilder(const BlockBounds& bounds = {});
  ~BlockBuilder();
  BlockBuilder(const BlockBuilder&) = delete;
  BlockBuilder& operator=(const BlockBuilder&) = delete;

  // What was written to one row at one time, by one event or by several of one commit sequence.
  // `values` in the order of `columns`; nulls are absent cells.
  // Copied. `identity`, where not null, stands for this list of columns: the same pointer means
  // the same columns until Finish, and costs no comparison of names.
  // REQUIRES: !IsFull(), or ContinuesLast(entry) and TakesMore(columns); it is no more than an
  // entry may be (BlockBounds); entries come by row key ascending, of one key newest first, of one
  // time the greater sequence first, and those with the same key, time and sequence have no column
  // in common; no column twice; at least one value that is not null.
  void Add(const EntryId& entry, std::span<const ColumnRef> columns, std::span<const Value> values,
           const void* identity);
  void Add(const EntryId& entry, const ColumnSet& set, std::span<const Value> values);

  // The same of values that are stored one behind the other (storage/FORMAT.md, Values), one for
  // each column. `is_whole`: they are malformed where one is absent, or there is none. Of malformed
  // ones the builder may have a part, and is of no use.
  StoredEntry AddStored(const EntryId& entry, const ColumnSet& set, std::string_view values,
                        bool is_whole);

  // Entries of another block that follow each other in one of its key runs, with their values of
  // these columns.
  // REQUIRES: as for Add; at most room() of them; columns in read order.
  void AddRun(const KeyRun& run, const RunEntries& entries, std::span<const BlockColumn> columns);
  // The same of entries that have few of very many columns: of each entry its own. How many were
  // added, which is one at least: none once the block is full.
  size_t AddRun(const KeyRun& run, const RunEntries& entries,
                std::span<const EntryColumns> columns);
  // How many entries may be added before the block is full, if nothing else fills it.
  size_t room() const;

  bool empty() const;
  bool IsFull() const;
  // Whether so many columns more, if they are new, are not too many for the block.
  bool TakesColumns(size_t more) const;
  // Whether the entry has the key and time of the last one. Entries that do are in one block as
  // long as it takes more, so that whoever reads columns sees within it that a cell was written
  // twice; beyond, each of the blocks says that it has a part of them.
  bool ContinuesLast(std::string_view row_key, TimeUs time) const;
  // Whether a full block takes one entry more, of so many columns, that continues its last one.
  bool TakesMore(size_t columns) const;
  // REQUIRES: !empty(). Empties the builder. `goes_on`: the next entry continues the last one.
  BuiltBlock Finish(bool goes_on = false);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_BLOCK_BUILDER_H_
