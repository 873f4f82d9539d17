// The service's instruments, resolved once at start: what is written and read, whatever protocol
// asked for it. Fixed label sets, never text from a client. Thread-safe.
#ifndef TALLYD_SERVICE_METRICS_SERVICE_METRICS_H_
#define TALLYD_SERVICE_METRICS_SERVICE_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include "service/metrics/stream_metrics.h"

namespace tallyd {

struct ServiceMetrics {
  explicit ServiceMetrics(prometheus::Registry& registry);

  StreamMetrics streams;
  prometheus::Counter& rows;             // tallyd_rows_written_total
  prometheus::Counter& cells;            // tallyd_cells_written_total
  prometheus::Counter& expired;          // tallyd_events_expired_total
  prometheus::Counter& rows_read;        // tallyd_query_rows_read_total
  prometheus::Counter& rows_returned;    // tallyd_query_rows_returned_total
  prometheus::Counter& unreadable_rows;  // tallyd_query_unreadable_rows_total
  prometheus::Counter& incomplete;       // tallyd_query_incomplete_total
  // tallyd_limit_warnings_total: what is larger than recommended, and taken.
  prometheus::Counter& large_values;   // {limit="value"}
  prometheus::Counter& large_rows;     // {limit="row"}
  prometheus::Counter& many_families;  // {limit="families"}
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_METRICS_SERVICE_METRICS_H_
