// PartScan: the rows of ranges, in key order, read back as events, part by part: all that the cells
// of one row and time tell. A part is the unit in which events are merged, ordered and paged.
//
// A part of a latest table is the whole row: its cells' times differ, its event's is the newest.
// What the query's filters refuse is left out, as far as one row can tell.
#ifndef TALLYD_SERVICE_QUERY_SCAN_PART_SCAN_H_
#define TALLYD_SERVICE_QUERY_SCAN_PART_SCAN_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/map/row_stems.h"
#include "ingest/unmap/row_reader.h"
#include "service/access/row_clamp.h"
#include "service/limits/query_memory.h"
#include "service/query/ask/candidate.h"
#include "service/query/scan/event_filter.h"
#include "storage/store.h"

namespace tallyd {

struct ScanCounters {
  uint64_t rows_read = 0;
  uint64_t unreadable_rows = 0;
  RowStems stems;  // Of the rows read.
};

// What all scans of one query share; it and what it points to outlive them.
struct ScanInput {
  Store* store = nullptr;
  const TablePlan* plan = nullptr;
  TimeUnit unit = TimeUnit::kMilliseconds;  // The stream's.
  const Table* table = nullptr;
  TablePtr stored;
  const RowClamp* clamp = nullptr;  // Null: every row.
  FieldTable* fields = nullptr;
  EventFilter* filter = nullptr;
  ScanCounters* counters = nullptr;
  const std::vector<std::string>* stream_fields = nullptr;
  std::vector<std::string> read_globs;
  TimeUs now = 0;
  uint64_t line = 0;     // ScanSpec::line
  ReadMemoryPtr memory;  // Null: what it holds is not counted.
  // All scans are of one answer: none goes on when the table's rules changed (same_table.h).
  bool is_one_answer = false;

  bool whole_rows() const { return KeepsNewest(*table); }
  // Whether an event may be spread over several rows.
  bool spreads_events() const { return table->row_key.names_measured_field(); }
};

struct ScanDirection {
  bool reverse_rows = false;
  bool oldest_first = true;  // The parts of a row; irrelevant for whole rows.
};

class PartScan {
 public:
  explicit PartScan(const ScanInput& input);

  // `ranges`: disjoint, in key order.
  void Open(std::vector<KeyRange> ranges, const TimeRange& time, ScanDirection direction);
  // For aggregation of measured fields, oldest rows first: Next may stop at a run instead of a
  // part, and rows without a measured field that is asked for are left out.
  // `names_only`: of runs no value is looked at.
  void OpenRuns(std::vector<KeyRange> ranges, const TimeRange& time, bool names_only = false);
  // Gives up the store's snapshot; Open starts again.
  void Close() {
    scan_.reset();
    runs_.reset();
    charge_.Clear();
  }
  // To the next part that has a fragment; false at the end.
  Result<bool> Next();

  // What the part tells; views are valid until the next row, that is: until Next.
  TimeUs time() const { return time_; }
  std::string_view row_key() const { return row().key; }
  std::string_view entity() const { return accepted_.front()->entity; }
  std::span<const EventFragment* const> fragments() const { return accepted_; }

  // Null: here is a part. A run's fields are `reader()`'s to tell; it is counted, not filtered.
  const ColumnRun* run() const { return at_run_ ? runs_->run() : nullptr; }
  RowReader& reader() { return reader_; }

 private:
  ScanSpec SpecOf(std::vector<KeyRange> ranges, const TimeRange& time) const;
  const Row& row() const { return runs_ ? runs_->row() : scan_->row(); }
  void CheckTable();
  Result<bool> NextRow();
  bool IsOthers(const ColumnRun& found);
  void CountRows(std::string_view key, size_t rows);
  bool ReadNextPart();
  bool ReadWholeRow();
  void Accept(size_t count);

  const ScanInput& input_;
  MemoryCharge charge_;  // Of an open scan and its largest row.
  const uint64_t scan_bytes_;
  RowReader reader_;
  std::vector<ColumnPattern> columns_;
  std::unique_ptr<RowScan> scan_;
  std::unique_ptr<RunScan> runs_;  // Instead.
  Status usable_;                  // What keeps the scan that is open from being read.
  bool at_run_ = false;
  ScanDirection direction_;
  bool in_row_ = false;
  bool key_accepted_ = false;  // The key's filters have passed for this row.
  size_t parts_read_ = 0;      // Of this row.
  TimeUs time_ = 0;
  std::vector<EventFragment> fragments_;
  std::vector<const EventFragment*> accepted_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_SCAN_PART_SCAN_H_
