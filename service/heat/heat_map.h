// HeatMap: how many rows of which key ranges are written and read in each minute, of every table,
// always on. What is not closed is in HeatTables; closed chunks are memos of the store, and kept
// for a week.
//
//   heat.Add(HeatMetric::kWrites, stems, now);   // Once a batch that is committed.
//   heat.Save(&store, now);                      // About once a minute, and at the end.
//   Result<HeatChart> chart = heat.Chart(&store, {HeatMetric::kWrites, table->id}, time, now);
//
// A kill loses what was counted since the last Save, a minute's worth. Thread-safe, but for Save,
// which one thread calls. Save and Chart may block on the disk.
#ifndef TALLYD_SERVICE_HEAT_HEAT_MAP_H_
#define TALLYD_SERVICE_HEAT_HEAT_MAP_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "ingest/map/row_stems.h"
#include "service/heat/heat_chart.h"
#include "service/heat/heat_table.h"
#include "storage/store.h"

namespace tallyd {

// DO NOT CHANGE THESE VALUES: they are stored.
enum class HeatMetric : uint8_t { kWrites = 'w', kReads = 'r' };

struct HeatOf {
  HeatMetric metric = HeatMetric::kWrites;
  TableId table = 0;
  friend auto operator<=>(const HeatOf&, const HeatOf&) = default;
};

class HeatMap {
 public:
  HeatMap() = default;
  HeatMap(const HeatMap&) = delete;
  HeatMap& operator=(const HeatMap&) = delete;

  void Add(HeatMetric metric, const RowStems& stems, TimeUs now);
  // Writes what has changed, begins new chunks at full hours, and forgets what is older than a
  // week, or of tables that are gone. What it could not write it writes the next time.
  Status Save(Store* store, TimeUs now);
  // `is_told`: of which ranges whoever asks is told; empty: of all.
  Result<HeatChart> Chart(Store* store, const HeatOf& of, const TimeRange& time, TimeUs now,
                          ChartMaker::IsTold is_told = {}) const;

 private:
  struct Open {
    HeatTable table;
    std::atomic<TimeUs> since = 0;  // When its chunk began: a part of the memo's key.
    std::optional<Memo> unsaved;    // The chunk before, while it is not written.
  };
  using OpenPtr = std::shared_ptr<Open>;

  OpenPtr FindOpen(const HeatOf& of) const;
  OpenPtr OpenOf(const HeatOf& of, TimeUs now);
  // Begins another chunk, if an hour has ended and the chunk before is written.
  void RollIfDue(const HeatOf& of, Open* open, TimeUs now);
  // What is to be written of it.
  std::vector<Memo> TakeMemos(const HeatOf& of, Open* open);
  Status Commit(Store* store, const std::vector<std::pair<OpenPtr, std::vector<Memo>>>& memos);
  Status Forget(Store* store, TimeUs now);

  mutable std::shared_mutex mutex_;
  std::map<HeatOf, OpenPtr> open_;  // Guarded by mutex_, as are the keys and what is unsaved.
  TimeUs forgot_at_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_HEAT_HEAT_MAP_H_
