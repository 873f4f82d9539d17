// RowStore: the part of a store's contract that is about rows. Batches are submitted and answered
// later; scans are pulled. Everything may fail.
#ifndef TALLYD_STORAGE_ROW_STORE_H_
#define TALLYD_STORAGE_ROW_STORE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/batch.h"
#include "storage/commit_outcome.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

struct TableStats {
  uint64_t rows = 0;  // Estimated, but exact for small tables and for latest tables.
  bool rows_exact = false;
  uint64_t disk_bytes = 0;  // Estimated.
};

class RowStore {
 public:
  virtual ~RowStore() = default;

  // Null when the table already has too many sets (the columns do not recur): Put them by name
  // then. `columns` in any order, no column twice; the set's order is read order. Thread-safe,
  // meant to be called once per shape, not per event.
  virtual const ColumnSet* InternColumns(const TableInfo& table,
                                         std::span<const ColumnRef> columns) = 0;

  virtual std::unique_ptr<Batch> NewBatch() = 0;
  // As a whole or not at all where the engine has whole batches (Capabilities); elsewhere each row
  // is, and the notes of the batch come before or behind its rows as they say (NoteOrder).
  virtual void Submit(std::unique_ptr<Batch> batch, CommitDone done) = 0;
  // Submits and waits: for threads that may block.
  Status Commit(std::unique_ptr<Batch> batch) {
    return WaitForCommit([&](CommitDone done) { Submit(std::move(batch), std::move(done)); });
  }

  // Both give the caller kUnavailable, and no row, of a table that was dropped meanwhile.
  virtual std::unique_ptr<RowScan> Scan(const TablePtr& table, const ScanSpec& spec) = 0;
  virtual std::unique_ptr<RunScan> ScanRuns(const TablePtr& table, const ScanSpec& spec) = 0;
  // Cuts a range into parts that follow each other and whose cells of that time take about as long
  // to scan; it stays in one piece where nothing is known.
  virtual Result<std::vector<KeyRange>> Split(const TablePtr& table, const KeyRange& range,
                                              const TimeRange& time, const SplitSpec& spec) = 0;
  // What it would take to scan that, without reading it.
  virtual Result<ScanEstimate> Estimate(const TablePtr& table, const EstimateSpec& spec) = 0;
  virtual Result<TableStats> Stats(const TablePtr& table) = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_ROW_STORE_H_
