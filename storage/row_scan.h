// Reading rows: what to read (ScanSpec), one row (Row), the cursor over them (RowScan).
//
//   auto scan = store.Scan(spec);
//   while (true) { Result<bool> more = scan->Next(); if (!more) ...; if (!*more) break;
//   Use(scan->row()); }
//
// GC rules and deletes are applied: an expired or deleted cell is never returned. A scan sees one
// state of the store, that of its creation (of a latest table: one state of each row). It must not
// be kept for long (it holds back space; a reopen ends it with kUnavailable) and must be destroyed
// before the Store. Not thread-safe; may move between threads. Blocks on the disk: never on an I/O
// thread.
#ifndef TALLYD_STORAGE_ROW_SCAN_H_
#define TALLYD_STORAGE_ROW_SCAN_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/column_set.h"

namespace tallyd {

// Selects columns by globs over family name and qualifier.
struct ColumnPattern {
  std::string family = "*";
  std::string qualifier = "*";
};

struct ScanSpec {
  // Disjoint, in key order; a reverse scan begins with the last. The store may read them in one go.
  std::vector<KeyRange> ranges = {KeyRange{}};
  uint64_t limit = 0;                  // So many rows at most; 0: all.
  TimeRange cells;                     // Only cells whose time lies in it.
  std::vector<ColumnPattern> columns;  // Any of these; empty: all.
  uint32_t versions = 0;   // The newest so many cells of each column (within `cells`); 0: all.
  bool reverse = false;    // Rows in descending key order. Parts stay newest first.
  bool keys_only = false;  // Each row brings only its newest part.
  TimeUs now = 0;          // For GC by age.
};

// A scan that may come, to be estimated. Ranges in key order, disjoint.
struct EstimateSpec {
  std::span<const KeyRange> ranges;
  TimeRange cells = {};
  double column_share = 1;        // Of the columns of these rows, how much is read.
  bool rows_only = false;         // Nothing else is wanted.
  uint64_t count_at_most = 1000;  // What has no index is counted up to a few times as many entries.
};

struct ScanEstimate {
  uint64_t rows = 0;
  uint64_t entries = 0;  // What one event wrote to one row.
  uint64_t bytes = 0;    // To be read, as they are stored.
  uint64_t streams = 0;  // Runs of bytes that are read and decoded by themselves.
};

// The cells of a row that share one time: what one event wrote, after later writes to the same
// columns and time.
struct RowPart {
  TimeUs time = 0;
  uint32_t begin = 0;  // Into Row::cells.
  uint32_t end = 0;
  const ColumnSet* set = nullptr;  // Where all cells come from one set; else null.
};

struct CellView {
  ColumnRef column;
  uint32_t set_index = 0;  // With RowPart::set: the column's place in it.
  Value value;
};

// Valid until the scan moves. Parts are newest first; a part's cells are in read order.
struct Row {
  std::string_view key;
  std::vector<RowPart> parts;
  std::vector<CellView> cells;

  std::span<const CellView> CellsOf(const RowPart& part) const {
    return std::span(cells).subspan(part.begin, part.end - part.begin);
  }
};

class RowScan {
 public:
  virtual ~RowScan() = default;
  // Moves to the next row that has a cell to return; false at the end.
  virtual Result<bool> Next() = 0;
  // The next row returned is the first at or after `key` (reverse: at or before). Only forward in
  // the scan's direction.
  virtual void SkipTo(std::string_view key) = 0;
  virtual const Row& row() const = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_ROW_SCAN_H_
