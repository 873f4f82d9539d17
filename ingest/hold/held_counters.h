// HeldCounters: what tables with `flush` have not written yet. The increments of an interval are
// added up in memory, by row and column, and become one row of the table when it ends: hundreds of
// increments cost one write. What a crash takes is what was held.
//
//   Begin (for each request and table); TimeOf for its events; Add, once the rest of the request is
//   durable. On another thread: TakeEnded, PutRows, and Forget of what was written. Who removes
//   rows of such a table: Remove.
//
// An increment belongs to the step of its event's time, `flush` long. The row's time is in that
// step, as many microseconds behind its start as the interval began behind the start of a step of
// the clock, a number that no other interval of this run has: so none writes over what another
// wrote, whatever times events bring. An interval of an earlier run may have had the same number,
// one of `flush` in microseconds; that matters only to events of the same step. Thread-safe.
#ifndef TALLYD_INGEST_HOLD_HELD_COUNTERS_H_
#define TALLYD_INGEST_HOLD_HELD_COUNTERS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values/time.h"
#include "storage/batch.h"
#include "storage/table_info.h"

namespace tallyd {

// What is added up of one table from some moment on.
class HeldInterval {
 public:
  HeldInterval(TablePtr table, int64_t flush_us, TimeUs since)
      : table_(std::move(table)), flush_us_(flush_us), since_(since) {}

  // Whether it began when nothing of its table may be held any more (HeldCounters::MayDrop).
  bool is_late() const { return is_late_; }
  TimeUs TimeOf(TimeUs event) const {
    return std::min(event - event % flush_us_ + since_ % flush_us_, kMaxTimeUs);
  }

 private:
  friend class HeldCounters;
  // By column what the increments add up to: more than one number where one does not hold it.
  using Sums = std::map<std::pair<FamilyId, std::string>, std::vector<int64_t>>;

  const TablePtr table_;
  const int64_t flush_us_;
  const TimeUs since_;
  bool is_late_ = false;  // Constant once somebody else has it.
  mutable std::mutex mutex_;                             // Of rows_ and bytes_.
  std::map<std::pair<std::string, TimeUs>, Sums> rows_;  // By row key and time.
  size_t bytes_ = 0;                                     // About.
};

// The increments of one request, kept until the rest of it is durable. It keeps their intervals
// from being written meanwhile.
class HeldIncrements {
 public:
  // All values are integers or null.
  void Put(std::shared_ptr<HeldInterval> interval, std::string_view row_key, TimeUs time,
           std::span<const ColumnRef> columns, std::span<const Value> values);
  void Append(HeldIncrements other);
  bool empty() const { return rows_.empty(); }
  // Whether some are of a table that is made anew, so that nobody would write them. Whoever commits
  // them asks before.
  bool is_late() const { return is_late_; }

 private:
  friend class HeldCounters;
  struct Row {
    std::shared_ptr<HeldInterval> interval;
    std::string key;
    TimeUs time = 0;
    std::vector<std::pair<Column, int64_t>> cells;
  };
  std::vector<Row> rows_;
  bool is_late_ = false;
};

// What a removal takes of what is held of a table: the cells of which `takes` says so.
struct HeldRemoval {
  TableId table = 0;
  std::function<bool(std::string_view row_key, TimeUs time, const ColumnRef& column)> takes;
};

class HeldCounters {
 public:
  static constexpr size_t kMaxBytes = 64u << 20;

  // `now`: the clock, which may go back.
  std::shared_ptr<HeldInterval> Begin(const TablePtr& table, int64_t flush_us, TimeUs now);
  void Add(HeldIncrements increments);
  // Whether no more should be taken until something was written.
  bool is_full() const { return bytes_.load(std::memory_order_relaxed) > kMaxBytes; }

  // Intervals that have ended by now and that no request holds any more: to be written, and held
  // until Forget. `all`: every one, as nobody adds any more; a request that was cut may hold one
  // still. One thread.
  using Ended = std::vector<std::shared_ptr<HeldInterval>>;
  Ended TakeEnded(TimeUs now, bool all);
  // What it holds becomes rows of its table, as that is now. What is removed meanwhile is no longer
  // in it, and still in the batch: whoever writes that sees to it (counter_flusher.cc).
  // REQUIRES: it was taken.
  static void PutRows(const HeldInterval& interval, const TableInfo& table, Batch* batch);
  static const TableInfo& TableOf(const HeldInterval& interval) { return *interval.table_; }
  // It was written, or never can be.
  void Forget(const HeldInterval& interval);
  // Forgets what was added by now; how many rows lost something. Called where the store tells that
  // the removal is durable, on the thread on which it tells of batches in the order of their
  // commits: then what is added of later batches stays.
  uint64_t Remove(const HeldRemoval& removal);
  // Asked before a table that shows no row is made anew under another number: false where something
  // of it is held, or a request is about to add something. True: nothing is, and from now on what
  // comes for that number is late (HeldIncrements::is_late). Any thread.
  bool MayDrop(TableId table);
  // The table was not made anew after all.
  void Reopen(TableId table);
  uint64_t rows() const { return held_rows_.load(std::memory_order_relaxed); }

 private:
  bool IsUnused(const std::shared_ptr<HeldInterval>& interval) const;
  void RemoveOf(HeldInterval& interval, const HeldRemoval& removal, uint64_t* rows);

  std::mutex mutex_;
  std::map<TableId, std::shared_ptr<HeldInterval>> current_;
  Ended ended_;
  std::map<TableId, std::set<int64_t>> used_;  // Numbers of intervals.
  std::set<TableId> dropped_;                  // Of which nothing may be held.
  std::atomic<size_t> bytes_ = 0;
  std::atomic<uint64_t> held_rows_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_HOLD_HELD_COUNTERS_H_
