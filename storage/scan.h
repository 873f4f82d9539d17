// Reading: what to read (ScanSpec), what that would take (ScanEstimate), and two cursors: rows
// (RowScan), and for those who aggregate runs of columns where the store holds them so (RunScan).
//
//   auto scan = store.Scan(table, spec);
//   for (Result<bool> more = scan->Next(); more && *more; more = scan->Next()) Use(scan->row());
//
// GC rules and deletes are applied: an expired or deleted cell is never returned. A scan sees one
// state of the store, that of its creation (of a latest table, or where the engine has no
// snapshots: one state of each row). It must not be kept for long (it holds back space; a reopen
// ends it with kUnavailable) and must be destroyed before the Store. Not thread-safe; may move
// between threads.
// Blocks on the disk, or on who keeps the rows: never on an I/O thread.
#ifndef TALLYD_STORAGE_SCAN_H_
#define TALLYD_STORAGE_SCAN_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/entry_times.h"
#include "storage/table_info.h"

namespace tallyd {

// Selects columns by globs over family name and qualifier.
struct ColumnPattern {
  std::string family = "*";
  std::string qualifier = "*";
};

// How long whoever reads waits for an engine that is elsewhere. One in this process waits for
// nobody, and passes over them.
struct ReadLimits {
  // From then on it answers kUnavailable, beside whatever deadline the engine has of its own.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Soon after it is true: kCancelled. May be null; outlives the reading.
  const std::atomic<bool>* cancelled = nullptr;
};

struct ScanSpec {
  // Disjoint, in key order; a reverse scan begins with the last. The store may read them in one go.
  std::vector<KeyRange> ranges = {KeyRange{}};
  uint64_t limit = 0;                  // So many rows at most; 0: all.
  TimeRange cells;                     // Only cells whose time lies in it.
  std::vector<ColumnPattern> columns;  // Any of these; empty: all.
  uint32_t versions = 0;    // The newest so many cells of each column (within `cells`); 0: all.
  bool reverse = false;     // Rows in descending key order. Parts stay newest first.
  bool keys_only = false;   // Each row brings only its newest part.
  bool names_only = false;  // Of runs only the columns' names are wanted (RunColumn::data).
  // Only cells that were written last before this line (Store::CommitBehindLine); 0: all. Of
  // tables with a history.
  uint64_t line = 0;
  TimeUs now = 0;          // For GC by age.
  ReadLimits limits = {};  // Of each step.
};

// A scan that may come, to be estimated. Ranges in key order, disjoint.
struct EstimateSpec {
  std::span<const KeyRange> ranges;
  TimeRange cells = {};
  double column_share = 1;        // Of the columns of these rows, how much is read.
  bool rows_only = false;         // Nothing else is wanted.
  uint64_t count_at_most = 1000;  // What has no index is counted up to a few times as many entries.
  ReadLimits limits = {};
};

// How a range is to be cut.
struct SplitSpec {
  size_t parts = 1;            // At most.
  uint64_t least_entries = 1;  // Of a part, on average, as far as blocks tell.
  ReadLimits limits = {};
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

// The values of one column, in the order of the entries that have it. What column blocks are
// decoded to; a plain value that reads no files.
struct ColumnData {
  enum class Kind : uint8_t {
    kInt,      // numbers
    kDecimal,  // numbers / 10^scale
    kDouble,   // doubles
    kBool,     // numbers, 0 or 1
    kString,   // texts
    kBytes,    // texts
    kMixed,    // values
  };
  Kind kind = Kind::kInt;
  uint8_t scale = 0;
  std::vector<int64_t> numbers;
  std::vector<double> doubles;
  std::vector<std::string_view> texts;  // Into `owned`.
  std::vector<Value> values;            // Text is in `owned`.
  std::string owned;

  size_t size() const {
    switch (kind) {
      case Kind::kDouble:
        return doubles.size();
      case Kind::kString:
      case Kind::kBytes:
        return texts.size();
      case Kind::kMixed:
        return values.size();
      default:
        return numbers.size();
    }
  }
  Value At(size_t index) const {
    if (kind == Kind::kDecimal) return Value::Decimal(numbers[index], scale);
    if (kind == Kind::kInt) return Value::Int(numbers[index]);
    return OtherAt(index);
  }

 private:
  Value OtherAt(size_t index) const {
    switch (kind) {
      case Kind::kDouble:
        return Value::Double(doubles[index]);
      case Kind::kBool:
        return Value::Bool(numbers[index] != 0);
      case Kind::kString:
        return Value::String(texts[index]);
      case Kind::kBytes:
        return Value::Bytes(texts[index]);
      default:
        return values[index];
    }
  }
};

// The values of one column in a run: data->At(begin + i) has the time times[i]. These are the times
// of the run's entries that have the column, which is at least one.
struct RunColumn {
  ColumnRef column;
  const ColumnData* data = nullptr;  // May be null where the spec wants names only.
  uint32_t begin = 0;
  EntryTimes times;
  bool times_ascend = false;  // Each is greater than the one before it; else nobody knows.
};

// How the keys of neighbouring entries differ by nothing but their time: the key of each is its
// run's stem with the entry's time written into it at one place.
enum class KeyTime : uint8_t {
  kNone = 0,       // All entries of the run have one key: the stem.
  kMs = 1,         // 13 digits
  kS = 2,          // 10 digits
  kUs = 3,         // 16 digits
  kReverseMs = 4,  // 19 digits, 2^63 - 1 - ms
};

// Entries whose row keys differ by nothing but the time that is written into them, if at all.
// Entry i has the time times[i]. `columns` are those that the spec selects and some of the entries
// have, in no particular order. Valid until the scan moves.
struct ColumnRun {
  std::string_view first_key;  // Of the first and the last entry. All keys between them differ from
  std::string_view last_key;   // these in the digits of their time only (KeyTime).
  KeyTime key_time = KeyTime::kNone;
  uint32_t key_place = 0;  // Where the time is in the keys, in bytes.
  EntryTimes times;
  std::span<const RunColumn> columns;
};

// RunScan: cells column by column where the store holds them so, rows elsewhere: sums and maxima of
// a run need neither rows nor keys.
//
//   auto scan = store.ScanRuns(table, spec);
//   while (more) { if (scan->run()) Use(*scan->run()); else Use(scan->row()); ... }
//
// Runs and rows come in key order, each cell once.
class RunScan {
 public:
  virtual ~RunScan() = default;
  // To the next run or row; false at the end.
  virtual Result<bool> Next() = 0;
  // Null: what is here is row().
  virtual const ColumnRun* run() const = 0;
  virtual const Row& row() const = 0;
};

// Runs of a store that has none: every row by itself.
class RowRuns final : public RunScan {
 public:
  explicit RowRuns(std::unique_ptr<RowScan> rows) : rows_(std::move(rows)) {}
  Result<bool> Next() override { return rows_->Next(); }
  const ColumnRun* run() const override { return nullptr; }
  const Row& row() const override { return rows_->row(); }

 private:
  const std::unique_ptr<RowScan> rows_;
};
inline std::unique_ptr<RunScan> RunsOfRows(std::unique_ptr<RowScan> rows) {
  return std::make_unique<RowRuns>(std::move(rows));
}

}  // namespace tallyd

#endif  // TALLYD_STORAGE_SCAN_H_
