// Gauges of the store's state, brought up to date when /metrics is asked. Thread-safe.
#ifndef TALLYD_API_STORE_GAUGES_H_
#define TALLYD_API_STORE_GAUGES_H_

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <array>

#include "storage/store.h"

namespace tallyd {

class StoreGauges {
 public:
  static constexpr size_t kLevels = 7;  // LevelDB's.

  explicit StoreGauges(prometheus::Registry& registry);
  void Update(const StoreState& state);

 private:
  prometheus::Gauge& disk_bytes_;  // tallyd_store_disk_bytes
  prometheus::Gauge& free_bytes_;  // tallyd_store_free_bytes
  prometheus::Gauge& unsealed_bytes_;
  prometheus::Gauge& block_files_;
  prometheus::Gauge& cut_tail_bytes_;   // tallyd_store_cut_tail_bytes
  prometheus::Gauge& pending_deletes_;  // tallyd_store_pending_deletes
  prometheus::Gauge& slowdown_;  // tallyd_leveldb_slowdown: 0, 1 from 8 files in level 0, 2 from 12
  prometheus::Gauge& retention_time_;  // tallyd_retention_clock_timestamp_seconds
  prometheus::Gauge& retention_lag_;   // tallyd_retention_clock_lag_seconds
  std::array<prometheus::Gauge*, kLevels> level_files_;  // tallyd_leveldb_files{level}
};

}  // namespace tallyd

#endif  // TALLYD_API_STORE_GAUGES_H_
