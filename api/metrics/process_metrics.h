// What Prometheus' clients tell of their own process, under the names that dashboards know:
// process_cpu_seconds_total, process_resident_memory_bytes and so on. Read when asked, mostly from
// /proc; what cannot be read is left out. Thread-safe.
#ifndef TALLYD_API_METRICS_PROCESS_METRICS_H_
#define TALLYD_API_METRICS_PROCESS_METRICS_H_

#include <prometheus/metric_family.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tallyd {

std::vector<prometheus::MetricFamily> CollectProcessMetrics();

// The fields of /proc/PID/stat (proc(5)) that are used here, in the kernel's units.
struct ProcessStat {
  uint64_t threads = 0;
  uint64_t start_ticks = 0;  // Since the machine was booted.
  uint64_t virtual_bytes = 0;
  uint64_t resident_pages = 0;
};
// The process' name stands in parentheses, and may hold any byte.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

}  // namespace tallyd

#endif  // TALLYD_API_METRICS_PROCESS_METRICS_H_
