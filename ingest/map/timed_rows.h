// TimedRows: a row whose columns' names hold the time and nothing else of an event ("{ts:%H%M}"),
// as rows with constant names, one for each period: the store learns their lists of columns, and
// nobody renders, compares or sorts the names again.
//
//   if (row.timed != nullptr) named = row.timed->Find(time);  // Null: render the names.
//
// Only names that recur are worth it, so a list is learned when it comes the kRecurs-th time, and a
// table learns at most kMaxLists. Thread-safe; the store and what the cells view outlive it.
#ifndef TALLYD_INGEST_MAP_TIMED_ROWS_H_
#define TALLYD_INGEST_MAP_TIMED_ROWS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "ingest/map/table_mapping.h"

namespace tallyd {

class TimedRows {
 public:
  static constexpr int kRecurs = 8;
  static constexpr size_t kMaxLists = 2048;

  // Null where the names hold something else, or do not recur from day to day, or change within a
  // minute.
  static std::shared_ptr<TimedRows> Make(const MappedTable& table, const RowMapping& row,
                                         Store* store);

  // Names stay the same from one multiple of it to the next.
  int64_t step() const { return step_; }
  // With `set` and what goes with it, but without a key. Valid as long as this is.
  const RowMapping* Find(TimeUs time);

 private:
  struct Known {
    int times = 0;  // That it came, up to kRecurs.
    std::unique_ptr<const RowMapping> row;
  };

  TimedRows(const MappedTable& table, const RowMapping& row, int64_t step, Store* store)
      : table_(table), cells_(row.cells), step_(step), store_(*store) {}

  // The cells as they are named at this time. Empty: not to be put so.
  std::vector<CellMapping> CellsAt(TimeUs time) const;
  std::unique_ptr<const RowMapping> Learn(TimeUs time);

  const MappedTable& table_;
  const std::vector<CellMapping> cells_;
  const int64_t step_;
  Store& store_;
  std::mutex mutex_;
  std::unordered_map<std::string, Known> known_;  // By the names; guarded by mutex_.
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_TIMED_ROWS_H_
