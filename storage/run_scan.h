// Reading for those who aggregate: cells column by column where the store holds them so, rows
// elsewhere. A run is the cells of many entries whose row keys differ by nothing but the time that
// is written into them, if at all, and that have the same columns: sums and maxima of it need
// neither rows nor keys.
//
//   auto scan = store.ScanRuns(table, spec);
//   while (true) { Result<bool> more = scan->Next(); ...; if (scan->run()) ...; else
//   Use(scan->row()); }
//
// Runs and rows come in key order, each cell once, with GC rules and deletes applied, as RowScan
// gives them; all that row_scan.h says of snapshots, lifetime and threads holds here.
#ifndef TALLYD_STORAGE_RUN_SCAN_H_
#define TALLYD_STORAGE_RUN_SCAN_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "storage/column_run.h"
#include "storage/row_scan.h"

namespace tallyd {

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
std::unique_ptr<RunScan> RunsOfRows(std::unique_ptr<RowScan> rows);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_RUN_SCAN_H_
