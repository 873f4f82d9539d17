// RowSizes: about how large the largest rows are that are being written, so that none grows beyond
// kMaxRowBytes, and whoever operates the daemon hears of those beyond kRecommendedRowBytes.
//
//   Status fits = sizes.Check(row_bytes);   // Before a batch is committed.
//   ... = sizes.Add(row_bytes);             // When it is.
//   sizes.Shrink(table, range);             // When something of these rows was deleted.
//
// 1. A row that is met counts what is written to it. What is newer than all of the row is new to it
//    for certain; what is not may replace what is there, as may everything where a family keeps so
//    many versions, and never leads to a refusal by itself.
// 2. A row that has grown by much is measured: RowMeasurer reads it, and from then on what it
//    really holds counts, and what was written since.
// 3. Few rows are remembered, the largest; one that was forgotten counts from nothing again until
//    it is measured. So the count may lag, in both directions, and never for long.
//
// Thread-safe.
#ifndef TALLYD_SERVICE_LIMITS_ROW_SIZES_H_
#define TALLYD_SERVICE_LIMITS_ROW_SIZES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/result.h"
#include "ingest/map/row_bytes.h"

namespace tallyd {

class RowSizes {
 public:
  struct LargeRow {
    TablePtr table;
    std::string key;
    uint64_t bytes = 0;
  };

  RowSizes() = default;
  RowSizes(const RowSizes&) = delete;
  RowSizes& operator=(const RowSizes&) = delete;

  // How the next batch is to be followed.
  RowSampling Sampling();
  // kInvalid, naming table, key and size, where the batch would make a row too large.
  Status Check(const RowBytes& batch);
  // The rows that the batch made larger than is recommended: those that were not yet.
  std::vector<LargeRow> Add(const RowBytes& batch);
  void Shrink(TableId table, const KeyRange& rows);

  // Those larger than recommended, the largest first.
  std::vector<LargeRow> Large() const;

  // A row that should be measured now, if there is one; whoever takes it calls Measured.
  std::optional<LargeRow> TakeToMeasure();
  // Nothing: it could not be measured.
  void Measured(const LargeRow& row, std::optional<uint64_t> bytes);
  // Called, of any thread, when there is a row to measure. Before the first Add.
  void OnDue(std::function<void()> call) { on_due_ = std::move(call); }

 private:
  using Key = std::pair<TableId, std::string>;
  struct Row {
    TablePtr table;
    uint64_t known = 0;          // When it was measured last.
    uint64_t certain = 0;        // Written since, and new to it.
    uint64_t other = 0;          // Written since.
    uint64_t taken_certain = 0;  // Of these, when the measuring began.
    uint64_t taken_other = 0;
    TimeUs newest = -1;
    bool is_due = false;
    bool is_taken = false;
    bool is_told = false;
    uint64_t least() const { return known + certain; }
    uint64_t most() const { return known + certain + other; }
  };

  void SetDue(Row* row);
  void ForgetSmall();
  void NoteFull();

  mutable std::mutex mutex_;
  std::map<Key, Row> rows_;
  bool any_due_ = false;
  std::atomic<bool> any_full_ = false;  // Nearly: every row is followed then.
  std::atomic<uint64_t> phase_ = 0;
  std::function<void()> on_due_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_LIMITS_ROW_SIZES_H_
