// The API's instruments, resolved once at start: fixed label sets, never text from a client.
// Thread-safe.
#ifndef TALLYD_API_METRICS_METRICS_H_
#define TALLYD_API_METRICS_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <string_view>
#include <vector>

namespace tallyd {

struct ApiMetrics {
  explicit ApiMetrics(prometheus::Registry& registry);

  // tallyd_http_requests_total{route,status="2xx"...}: one row per route of the router, in its
  // order.
  void AddRoutes(const std::vector<std::string_view>& routes);
  void CountRequest(size_t route, unsigned status, double seconds);

  prometheus::Counter& events;               // tallyd_events_total: stored
  prometheus::Counter& rows;                 // tallyd_rows_written_total
  prometheus::Counter& cells;                // tallyd_cells_written_total
  prometheus::Counter& expired;              // tallyd_events_expired_total
  prometheus::Counter& idempotent_replays;   // tallyd_idempotent_replays_total
  prometheus::Counter& received_bytes;       // tallyd_http_received_bytes_total
  prometheus::Counter& sent_bytes;           // tallyd_http_sent_bytes_total
  prometheus::Counter& rows_read;            // tallyd_query_rows_read_total
  prometheus::Counter& rows_returned;        // tallyd_query_rows_returned_total
  prometheus::Counter& unreadable_rows;      // tallyd_query_unreadable_rows_total
  prometheus::Counter& incomplete;           // tallyd_query_incomplete_total
  // tallyd_limit_warnings_total: what is larger than recommended, and taken.
  prometheus::Counter& large_values;         // {limit="value"}
  prometheus::Counter& large_rows;           // {limit="row"}
  prometheus::Counter& many_families;        // {limit="families"}
  prometheus::Gauge& connections;            // tallyd_http_connections
  prometheus::Counter& refused_connections;  // ..._connections_refused_total

 private:
  struct Route {
    std::array<prometheus::Counter*, 6> by_class;  // Index: status / 100.
    prometheus::Histogram* seconds;
  };
  std::vector<Route> routes_;
  prometheus::Family<prometheus::Counter>* requests_family_;
  prometheus::Family<prometheus::Histogram>* seconds_family_;
};

}  // namespace tallyd

#endif  // TALLYD_API_METRICS_METRICS_H_
