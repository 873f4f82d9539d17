// What each stored table holds, as gauges of /metrics: tallyd_table_rows{table} and
// tallyd_table_disk_bytes{table}, as /v1/tables tells them. Small tables are counted by reading
// their keys, so what was read is given again for a hundred times as long as that took: however
// often somebody asks, it costs a hundredth of a thread.
//
// Thread-safe. Whoever comes while another reads is given what was read before.
#ifndef TALLYD_API_METRICS_TABLE_GAUGES_H_
#define TALLYD_API_METRICS_TABLE_GAUGES_H_

#include <prometheus/metric_family.h>

#include <chrono>
#include <mutex>
#include <vector>

#include "storage/store.h"

namespace tallyd {

class TableGauges {
 public:
  using Families = std::vector<prometheus::MetricFamily>;
  // How many times as long as reading took its outcome is good for.
  static constexpr int kGoodFor = 100;

  // Blocks while it reads. Without a table that cannot be read now.
  Families Collect(Store* store);
  // As they were read last, without asking the store.
  Families Known() const;

 private:
  mutable std::mutex mutex_;
  Families known_;
  bool is_reading_ = false;
  std::chrono::steady_clock::time_point good_until_{};
};

}  // namespace tallyd

#endif  // TALLYD_API_METRICS_TABLE_GAUGES_H_
