// Store: the narrow interface behind which an engine keeps rows: LevelDB and column blocks
// (storage/leveldb_store.h), or a service. Apply a batch durably, scan ranges, forget ranges;
// streams' field catalogue beside them. What every store must do is
// tests/storage/conformance_test.cc.
//
// Lifetime: open -> Adopt(schema) -> NewBatch/Submit/Scan from any thread -> Close. Close drains
// what was submitted; after it Submit answers kUnavailable.
#ifndef TALLYD_STORAGE_STORE_H_
#define TALLYD_STORAGE_STORE_H_

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "config/values/value.h"
#include "storage/batch.h"
#include "storage/retention_clock.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// Called once per Submit, from the store's thread or from Submit itself: must not block and must
// not throw. OK: durable (as `sync` promises). kOverloaded: never queued, try again. kNoSpace,
// kUnavailable, kIo: not acknowledged; a group that failed while it was written may or may not be
// found after the reopen.
using CommitDone = std::function<void(Status)>;

// Waits for the fate of what `submit` submits. Not from a CommitDone.
inline Status WaitForCommit(const std::function<void(CommitDone)>& submit) {
  // The promise is shared: the store's thread may still be in it when the waiter has gone on.
  auto result = std::make_shared<std::promise<Status>>();
  std::future<Status> committed = result->get_future();
  submit([result](Status status) { result->set_value(std::move(status)); });
  return committed.get();
}

// What is remembered of the values that a field ever had: a bit for each type, and one for strings
// that would read back as numbers where only their text is kept (ValueFromText).
constexpr uint8_t TypeBit(ValueType type) {
  return static_cast<uint8_t>(1u << static_cast<unsigned>(type));
}
inline constexpr uint8_t kNumberTextBit = 1u << 6;

struct FieldInfo {
  std::string name;
  uint8_t type_bits = 0;  // TypeBit, kNumberTextBit
  // Of the spellings of one compact name the greatest is the one that the stream saw last; 0 where
  // nobody told (Batch::NoteSpelling).
  uint64_t spelled = 0;
};

// A field of which a table did not keep all that came, although its rules take it: events that had
// it stayed outside (`when`, or nothing else to store), or entered and left it behind (a template
// that needs another field, too).
inline constexpr uint8_t kMissedOutside = 1;
inline constexpr uint8_t kMissedInside = 2;
struct MissedField {
  std::string name;       // Empty, of a table that missed too many to remember: any.
  uint8_t how = 0;        // Of the two bits above.
  uint64_t sequence = 0;  // About when that happened last: no commit before it counts.
};

struct TableStats {
  uint64_t rows = 0;  // Estimated, but exact for small tables and for latest tables.
  bool rows_exact = false;
  uint64_t disk_bytes = 0;  // Estimated.
};

using Memo = std::pair<std::string, std::string>;  // Its key and its value.

// What an engine measures of itself: a gauge for /metrics.
struct StoreGauge {
  std::string name;  // "tallyd_leveldb_files". Gauges of one name follow each other.
  std::string help;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

// What an engine tells of itself: a name and a value of /v1/status, or a list or group of such.
struct StoreMember {
  using Members = std::vector<StoreMember>;
  std::string name;  // Empty for the members of a list.
  std::variant<bool, uint64_t, std::string, Members> value;
};

struct StoreState {
  bool writable = false;
  std::string reason;  // Why not, for people.
  uint64_t queued_bytes = 0;
  uint64_t queued_batches = 0;
  uint64_t unsealed_bytes = 0;  // Committed, and not yet in the form in which it will stay.
  RetentionClock::State retention;
  // Of the engine's own: nobody but people and their monitors reads their names.
  std::vector<StoreGauge> gauges;
  std::vector<StoreMember> members;
};

class Store {
 public:
  virtual ~Store() = default;

  // Makes the schema's streams, tables and families known, or refuses (kConflict, naming both) when
  // it contradicts what is stored: a stream's unit, a table's stream, pattern, row key or keep.
  // Whole or not at all; durable on return.
  virtual Status Adopt(const Schema& schema) = 0;

  // Null if unknown. Orphaned ones, too.
  virtual TablePtr FindTable(std::string_view name) const = 0;
  virtual std::vector<TablePtr> Tables() const = 0;  // By name.
  // Forgets an orphaned table and all of its rows. kConflict if it is configured.
  virtual Status DropTable(std::string_view name) = 0;

  // A table is made anew behind its name: StageTable gives an empty one of this shape that no
  // reader finds by name, in place of one that was staged before; whoever has it fills it.
  // SwapStaged lets the staged one and the one that has the name change places at once, durable on
  // return: a crash leaves either. So what is staged then is what was replaced, for those who still
  // read it, and where nothing was staged the name is free. A table that is in no schema that was
  // adopted is orphaned after a restart. An engine without this says kConflict.
  virtual Result<TablePtr> StageTable(const Table& /*table*/) { return NoStages(); }
  virtual Status SwapStaged(const Table& /*table*/) { return NoStages(); }
  virtual Status DropStaged(std::string_view /*name*/) { return NoStages(); }
  virtual std::vector<std::string> StagedTables() const { return {}; }  // The names behind which.

  // Null when the table already has too many sets (the columns do not recur): Put them by name
  // then. `columns` in any order, no column twice; the set's order is read order. Thread-safe,
  // meant to be called once per shape, not per event.
  virtual const ColumnSet* InternColumns(const TableInfo& table,
                                         std::span<const ColumnRef> columns) = 0;

  virtual std::unique_ptr<Batch> NewBatch() = 0;
  virtual void Submit(std::unique_ptr<Batch> batch, CommitDone done) = 0;
  // Submits and waits: for threads that may block.
  Status Commit(std::unique_ptr<Batch> batch) {
    return WaitForCommit([&](CommitDone done) { Submit(std::move(batch), std::move(done)); });
  }

  // Notes what is written to the table from then on, of cells older than `before`, and that
  // something of it was deleted, for as long as it is held.
  virtual std::shared_ptr<RowWatch> WatchRows(const TableInfo& table, TimeUs before) {
    return std::make_shared<RowWatch>(table.id, before);
  }
  // Submits and waits. kConflict, and nothing is changed: since the watch was restarted somebody
  // wrote to a row and time of its table that the batch writes to, too, or deleted something of the
  // table; or a schema was adopted since the batch was made. The batch has a group of its own.
  virtual Status CommitUnlessTouched(std::unique_ptr<Batch> /*batch*/,
                                     const std::shared_ptr<RowWatch>& /*watch*/) {
    return NoFilling();
  }
  // Draws a line behind all that was committed so far and commits the batch right behind it; waits.
  // `complete` is told the line before, on the store's thread, and may still add to the batch. A
  // line tells a scan (ScanSpec::line) for as long as the store lives what lies before it.
  using CompleteBatch = std::function<void(uint64_t line, Batch* batch)>;
  virtual Status CommitBehindLine(std::unique_ptr<Batch> /*batch*/,
                                  const CompleteBatch& /*complete*/) {
    return NoFilling();
  }
  // The table holds from this time on what its marks (RuleMark::whole_from), as `table` has them,
  // say is missing. Durable on return. kConflict: they are others by now.
  virtual Status SetWhole(const TableInfo& /*table*/, TimeUs /*from*/) { return NoFilling(); }

  // Both give the caller kUnavailable, and no row, of a table that was dropped meanwhile.
  virtual std::unique_ptr<RowScan> Scan(const TablePtr& table, const ScanSpec& spec) = 0;
  virtual std::unique_ptr<RunScan> ScanRuns(const TablePtr& table, const ScanSpec& spec) = 0;
  // Cuts a range into parts that follow each other and whose cells of that time take about as long
  // to scan.
  virtual std::vector<KeyRange> Split(const TablePtr& table, const KeyRange& range,
                                      const TimeRange& time, const SplitSpec& spec) = 0;
  // What it would take to scan that, without reading it.
  virtual Result<ScanEstimate> Estimate(const TablePtr& table, const EstimateSpec& spec) = 0;

  virtual std::vector<FieldInfo> Fields(std::string_view stream) const = 0;         // By name.
  virtual std::vector<MissedField> MissedFields(const TableInfo& table) const = 0;  // By name.
  // Memos (Batch::PutMemo), as of all commits that were answered before the call. Both may read the
  // disk.
  virtual Result<std::optional<std::string>> FindMemo(std::string_view key) = 0;
  // Those whose keys begin with `prefix` and come after `after`, in key order, at most `limit`. All
  // of them are in memory at once.
  virtual Result<std::vector<Memo>> Memos(std::string_view prefix, size_t limit,
                                          std::string_view after = {}) = 0;

  virtual TableStats Stats(const TablePtr& table) = 0;
  virtual StoreState State() = 0;

  // What has expired by this time may be gone for good (storage/retention_clock.h). Never later
  // than the wall clock.
  virtual TimeUs RetentionNow() = 0;
  // What State() tells of that clock, alone.
  virtual RetentionClock::State Retention() { return State().retention; }
  // Believes the wall clock from now on, however far it jumped. Durable on return.
  virtual Status TrustClock() = 0;

  // Does now what the store would do later in the background (seal, merge, purge, compact) with
  // what there is when it is called, and returns when it is done, however long that takes. A store
  // that leaves nothing for later returns at once.
  virtual Status Settle() { return {}; }

  // Puts all that is stored at one moment into the directory `to`, beside writes and reads; blocks
  // until it is complete, and tells what it took; kCancelled soon after `stop` is true. One at a
  // time: kConflict. Also where somebody else keeps backups.
  virtual Result<StoreMember::Members> Backup(const std::string& /*to*/,
                                              const std::atomic<bool>& /*stop*/) {
    return Error(ErrorCode::kConflict, "this engine has backups of its own");
  }

  // Commits what is queued, refuses the rest, closes the files. Idempotent.
  virtual void Close() = 0;

 private:
  static Error NoFilling() { return Error(ErrorCode::kConflict, "this engine fills no tables"); }
  static Error NoStages() {
    return Error(ErrorCode::kConflict, "this engine makes no tables behind their names");
  }
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_STORE_H_
