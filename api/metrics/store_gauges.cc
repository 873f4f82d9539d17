#include "api/metrics/store_gauges.h"

#include <utility>

namespace tallyd {
namespace {

prometheus::MetricFamily FamilyOf(std::string name, std::string help) {
  return {std::move(name), std::move(help), prometheus::MetricType::Gauge, {}};
}

prometheus::MetricFamily Single(const char* name, const char* help, double value) {
  prometheus::MetricFamily family = FamilyOf(name, help);
  family.metric.emplace_back().gauge.value = value;
  return family;
}

}  // namespace

std::vector<prometheus::MetricFamily> GaugesOf(const StoreState& state) {
  std::vector<prometheus::MetricFamily> families;
  families.push_back(Single("tallyd_store_writable",
                            "1 while writes are taken; 0 after a failed write or on a full disk.",
                            state.writable ? 1 : 0));
  families.push_back(Single("tallyd_retention_clock_timestamp_seconds",
                            "The time by which the disk forgets.",
                            static_cast<double>(state.retention.time) / kUsPerSecond));
  families.push_back(Single("tallyd_retention_clock_lag_seconds",
                            "How far the wall clock is ahead of the retention clock.",
                            static_cast<double>(state.retention.lag_us) / kUsPerSecond));
  for (const StoreGauge& gauge : state.gauges) {
    if (families.back().name != gauge.name) families.push_back(FamilyOf(gauge.name, gauge.help));
    prometheus::ClientMetric& metric = families.back().metric.emplace_back();
    metric.gauge.value = gauge.value;
    for (const auto& [name, value] : gauge.labels) metric.label.push_back({name, value});
  }
  return families;
}

}  // namespace tallyd
