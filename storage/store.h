// Store: the narrow interface behind which an engine keeps rows. LevelDB stands behind it
// (storage/leveldb_store.h); Cloud Bigtable will. Apply a batch durably, scan ranges, forget
// ranges; streams' field catalogue beside them.
//
// Lifetime: OpenLevelDbStore -> Adopt(schema) -> NewBatch/Submit/Scan from any thread -> Close.
// Close drains what was submitted; after it Submit answers kUnavailable.
#ifndef TALLYD_STORAGE_STORE_H_
#define TALLYD_STORAGE_STORE_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/result.h"
#include "storage/batch.h"
#include "storage/retention_clock.h"
#include "storage/row_scan.h"
#include "storage/run_scan.h"
#include "storage/table_info.h"

namespace tallyd {

// Called once per Submit, from the store's thread or from Submit itself: must not block and must
// not throw. OK: durable (as `sync` promises). kOverloaded: never queued, try again. kNoSpace,
// kUnavailable, kIo: not acknowledged; a group that failed while it was written may or may not be
// found after the reopen.
using CommitDone = std::function<void(Status)>;

struct FieldInfo {
  std::string name;
  uint8_t type_bits = 0;  // 1 << ValueType
};

struct TableStats {
  uint64_t rows = 0;  // Estimated, but exact for small tables and for latest tables.
  bool rows_exact = false;
  uint64_t disk_bytes = 0;  // Estimated.
};

// A file that a start has found in a state worth telling of.
struct FoundFile {
  std::string file;
  uint64_t bytes = 0;
};

struct StoreState {
  bool writable = false;
  std::string reason;  // Why not, for people.
  uint64_t queued_bytes = 0;
  uint64_t queued_batches = 0;
  uint64_t pending_deletes = 0;  // Ranges that are forgotten but not yet removed from the disk.
  uint64_t unsealed_bytes = 0;   // Not yet in column blocks.
  uint64_t block_files = 0;
  uint64_t disk_bytes = 0;
  uint64_t free_bytes = 0;
  // Ends of files, in bytes, that a crash left incomplete: never acknowledged, and passed over.
  std::vector<FoundFile> cut_tails;
  std::vector<int> level_files;  // LevelDB files per level.
  std::string engine_stats;      // The engine's own table, for people.
  RetentionClock::State retention;
};

class Store {
 public:
  virtual ~Store() = default;

  // Makes the schema's streams, tables and families known, or refuses (kConflict, naming both) when
  // it contradicts what is stored: a stream's unit, a table's stream, pattern, row key or keep.
  // Whole or not at all; durable on return.
  virtual Status Adopt(const Schema& schema) = 0;

  virtual TablePtr FindTable(
      std::string_view name) const = 0;              // Null if unknown. Orphaned ones, too.
  virtual std::vector<TablePtr> Tables() const = 0;  // By name.
  // Forgets an orphaned table and all of its rows. kConflict if it is configured.
  virtual Status DropTable(std::string_view name) = 0;

  // Null when the table already has too many sets (the columns do not recur): Put them by name
  // then. `columns` in any order, no column twice; the set's order is read order. Thread-safe,
  // meant to be called once per shape, not per event.
  virtual const ColumnSet* InternColumns(const TableInfo& table,
                                         std::span<const ColumnRef> columns) = 0;

  virtual std::unique_ptr<Batch> NewBatch() = 0;
  virtual void Submit(std::unique_ptr<Batch> batch, CommitDone done) = 0;

  virtual std::unique_ptr<RowScan> Scan(const TablePtr& table, const ScanSpec& spec) = 0;
  virtual std::unique_ptr<RunScan> ScanRuns(const TablePtr& table, const ScanSpec& spec) = 0;
  // Cuts a range into at most `parts` that follow each other and whose cells of that time take
  // about as long to scan.
  virtual std::vector<KeyRange> Split(const TablePtr& table, const KeyRange& range,
                                      const TimeRange& time, size_t parts) = 0;
  // How many rows the ranges hold: counted up to `count_at_most`, extrapolated beyond.
  virtual Result<uint64_t> EstimateRows(const TablePtr& table, std::span<const KeyRange> ranges,
                                        uint64_t count_at_most) = 0;

  virtual std::vector<FieldInfo> Fields(std::string_view stream) const = 0;  // By name.
  virtual TableStats Stats(const TablePtr& table) = 0;
  virtual StoreState State() = 0;

  // What has expired by this time may be gone for good (storage/retention_clock.h). Never later
  // than the wall clock.
  virtual TimeUs RetentionNow() = 0;
  // Believes the wall clock from now on, however far it jumped. Durable on return.
  virtual Status TrustClock() = 0;

  // Does now what the store would do later in the background (seal, merge, purge, compact) with
  // what there is when it is called, and
  // returns when it is done. Blocks for as long as that takes.
  virtual Status Settle() = 0;

  // Commits what is queued, refuses the rest, closes the files. Idempotent.
  virtual void Close() = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_STORE_H_
