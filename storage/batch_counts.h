// BatchCounts: what a batch of events leaves behind, for the answer to its sender: the distinct
// rows of tables that it touches and the cells in them. The same row, column and time twice is one
// cell; in a latest table the same row and column is one, and with kLatestRow only the newest
// event's cells count. What the store already holds does not matter.
//
//   BatchCounts counts;
//   counts.Add(table, key, time, set, values);   // With the arguments of Batch::Put.
//   ... counts.rows(), counts.cells();
//
// Nothing passed in needs to outlive the call, but ColumnSets. Not thread-safe.
#ifndef TALLYD_STORAGE_BATCH_COUNTS_H_
#define TALLYD_STORAGE_BATCH_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/table_info.h"

namespace tallyd {

class BatchCounts {
 public:
  // Room for so many calls of Add; others may follow, or none.
  void Expect(size_t puts);
  void Add(const TableInfo& table, std::string_view row_key, TimeUs time, const ColumnSet& set,
           std::span<const Value> values);
  void Add(const TableInfo& table, std::string_view row_key, TimeUs time,
           std::span<const ColumnRef> columns, std::span<const Value> values);
  // For another batch; the memory stays.
  void Clear();
  // More memory than a usual batch needs.
  bool keeps_much() const {
    return puts_.capacity() > kKeptPuts || slots_.size() > kKeptSlots ||
           hashes_.capacity() > kKeptColumns || present_.capacity() > kKeptColumns;
  }

  uint64_t rows() const { return rows_; }
  uint64_t cells() const { return are_counted_ ? cells_ : CountCells(); }

 private:
  static constexpr size_t kKeptPuts = 16'384;
  static constexpr size_t kKeptSlots = 2 * kKeptPuts;
  static constexpr size_t kKeptColumns = 4 * kKeptPuts;

  // Rows and columns are known by their hashes: 128 bits for a row, 64 for a column of a row.
  struct RowHash {
    uint64_t low = 0;
    uint64_t high = 0;
    friend bool operator==(const RowHash&, const RowHash&) = default;
  };
  struct Put {
    RowHash hash;
    uint32_t row = 0;  // The first put of its row.
    uint32_t cells = 0;
    TimeUs time = 0;
    const ColumnSet* set = nullptr;  // Null: hashes_ tells the columns.
    size_t first = 0;                // In hashes_; in present_ where there is a set, or kWhole.
    // Of the first put of a row of a history: the newest of its row, while they are counted.
    TimeUs newest = 0;
    TableMode mode = TableMode::kHistory;
  };
  // It has every column of its set.
  static constexpr size_t kWhole = SIZE_MAX;
  // Of a row, by bits of its hash, in the next place that is free; a few bytes, as a batch may have
  // very many rows.
  struct Slot {
    uint32_t high_bits = 0;  // Of the hash.
    uint32_t put = 0;        // The first of the row, from 1 on; 0: none.
  };

  // Counts the put, the last one, where what came before of its row lets tell its cells at once.
  void CountPut();
  // Adds a put of the row.
  Put& NewPut(const TableInfo& table, std::string_view row_key, TimeUs time);
  uint32_t RowOf(const RowHash& hash);
  void MakeSlots(size_t rows);
  void ClearSlots();
  void NotePresent(std::span<const Value> values);
  bool HasColumn(const Put& put, size_t column) const {
    return put.first == kWhole || (present_[put.first + column / 64] >> column % 64 & 1) != 0;
  }
  uint64_t CountCells() const;
  uint64_t CountGroup(std::span<const Put* const> puts) const;
  uint64_t CountOfSet(std::span<const Put* const> puts) const;

  std::vector<Slot> slots_;  // A power of two of them, at least half of them free.
  std::vector<Put> puts_;
  uint64_t rows_ = 0;
  uint64_t cells_ = 0;  // While are_counted_: of all puts.
  bool are_counted_ = true;
  std::vector<uint64_t> hashes_;
  std::vector<uint64_t> present_;  // By column of a set a bit, where some are absent.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BATCH_COUNTS_H_
