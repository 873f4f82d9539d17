#include "api/metrics/table_gauges.h"

#include <utility>

namespace tallyd {
namespace {

using SteadyClock = std::chrono::steady_clock;

void AddGauge(const TableInfo& table, uint64_t value, prometheus::MetricFamily* family) {
  prometheus::ClientMetric& metric = family->metric.emplace_back();
  metric.gauge.value = static_cast<double>(value);
  metric.label.push_back({"table", table.name});
}

TableGauges::Families Read(Store* store) {
  prometheus::MetricFamily rows = {"tallyd_table_rows",
                                   "Rows of a table: exact where it is small, else estimated.",
                                   prometheus::MetricType::Gauge,
                                   {}};
  prometheus::MetricFamily bytes = {"tallyd_table_disk_bytes",
                                    "What a table takes on the disk, estimated.",
                                    prometheus::MetricType::Gauge,
                                    {}};
  for (const TablePtr& table : store->Tables()) {
    const Result<TableStats> stats = store->Stats(table);
    if (!stats) continue;
    AddGauge(*table, stats->rows, &rows);
    AddGauge(*table, stats->disk_bytes, &bytes);
  }
  if (rows.metric.empty()) return {};
  return {std::move(rows), std::move(bytes)};
}

}  // namespace

TableGauges::Families TableGauges::Collect(Store* store) {
  {
    const std::lock_guard lock(mutex_);
    if (is_reading_ || SteadyClock::now() < good_until_) return known_;
    is_reading_ = true;
  }
  const SteadyClock::time_point begin = SteadyClock::now();
  Families read = Read(store);
  const SteadyClock::time_point end = SteadyClock::now();
  const std::lock_guard lock(mutex_);
  known_ = std::move(read);
  good_until_ = end + kGoodFor * (end - begin);
  is_reading_ = false;
  return known_;
}

TableGauges::Families TableGauges::Known() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

}  // namespace tallyd
