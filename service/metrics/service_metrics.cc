#include "service/metrics/service_metrics.h"

namespace tallyd {
namespace {

using prometheus::BuildCounter;

prometheus::Counter& Counter(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Counter& LimitCounter(prometheus::Registry& registry, const char* limit) {
  return BuildCounter()
      .Name("tallyd_limit_warnings_total")
      .Help("What is larger than is recommended, and was taken.")
      .Register(registry)
      .Add({{"limit", limit}});
}

}  // namespace

ServiceMetrics::ServiceMetrics(prometheus::Registry& registry)
    : streams(registry),
      rows(Counter(registry, "tallyd_rows_written_total", "Rows touched by stored batches.")),
      cells(Counter(registry, "tallyd_cells_written_total", "Cells written by stored batches.")),
      expired(Counter(registry, "tallyd_events_expired_total",
                      "Events that a table did not take because they were past its max_age.")),
      rows_read(Counter(registry, "tallyd_query_rows_read_total", "Rows read for queries.")),
      rows_returned(
          Counter(registry, "tallyd_query_rows_returned_total", "Rows returned by queries.")),
      unreadable_rows(Counter(registry, "tallyd_query_unreadable_rows_total",
                              "Rows left out of event reads: the key template cannot read them.")),
      incomplete(Counter(registry, "tallyd_query_incomplete_total",
                         "Answers from a table that may lack some of what was asked for.")),
      large_values(LimitCounter(registry, "value")),
      large_rows(LimitCounter(registry, "row")),
      many_families(LimitCounter(registry, "families")) {}

}  // namespace tallyd
