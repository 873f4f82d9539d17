// RowStore: the part of a store's contract that is about rows. Batches are submitted and answered
// later; scans are pulled. Everything may fail.
#ifndef TALLYD_STORAGE_ROW_STORE_H_
#define TALLYD_STORAGE_ROW_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/batch.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// A row of a batch that was not written, and why.
struct RowFailure {
  TableId table = 0;
  std::string row_key;
  Error error;
};

// What became of a batch. Whoever wants to know no more than whether all of it is there takes it
// as a Status.
class CommitOutcome {
 public:
  CommitOutcome() = default;                                    // All of it is durable.
  CommitOutcome(Status status) : status_(std::move(status)) {}  // NOLINT
  CommitOutcome(Error error) : status_(std::move(error)) {}     // NOLINT
  // Of an engine without whole batches: these of its rows are not there, or nobody knows, and all
  // others are. What was to come behind the rows (NoteOrder) is not there. REQUIRES: some failed.
  static CommitOutcome InPart(std::vector<RowFailure> failed, size_t rows);

  explicit operator bool() const { return status_.has_value(); }
  operator const Status&() const { return status_; }  // NOLINT
  const Status& status() const { return status_; }
  Error error() const { return status_.error(); }  // REQUIRES: it failed.
  // Empty with an error: the batch as a whole, and error() tells what is known of it.
  const std::vector<RowFailure>& failed() const { return failed_; }

 private:
  Status status_;
  std::vector<RowFailure> failed_;
};

inline CommitOutcome CommitOutcome::InPart(std::vector<RowFailure> failed, size_t rows) {
  const Error& first = failed.front().error;
  CommitOutcome outcome(Error(
      first.code(), std::to_string(failed.size()) + " of " + std::to_string(rows) +
                        " rows were not acknowledged, the others are there: " + first.message()));
  outcome.failed_ = std::move(failed);
  return outcome;
}

// Called once per Submit, from the store's thread or from Submit itself: must not block and must
// not throw. OK: durable (as `sync` promises). kOverloaded: never queued, try again. kNoSpace,
// kUnavailable, kIo: not acknowledged; what failed while it was written may or may not be found
// afterwards, and may be submitted again: plain cells are then written over with themselves.
using CommitDone = std::function<void(CommitOutcome)>;

// Waits for the fate of what `submit` submits. Not from a CommitDone.
inline Status WaitForCommit(const std::function<void(CommitDone)>& submit) {
  // The promise is shared: the store's thread may still be in it when the waiter has gone on.
  auto result = std::make_shared<std::promise<Status>>();
  std::future<Status> committed = result->get_future();
  submit([result](const CommitOutcome& outcome) { result->set_value(outcome.status()); });
  return committed.get();
}

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
