// The daemon's instruments: those of the service, and of what speaks HTTP. Resolved once at start:
// fixed label sets, never text from a client. Thread-safe.
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

#include "api/metrics/tls_metrics.h"
#include "service/metrics/service_metrics.h"

namespace tallyd {

struct ApiMetrics : ServiceMetrics {
  explicit ApiMetrics(prometheus::Registry& registry);

  // tallyd_http_requests_total{route,status="2xx"...}: one row per route of the router, in its
  // order.
  void AddRoutes(const std::vector<std::string_view>& routes);
  void CountRequest(size_t route, unsigned status, double seconds);

  prometheus::Counter& idempotent_replays;   // tallyd_idempotent_replays_total
  prometheus::Counter& received_bytes;       // tallyd_http_received_bytes_total
  prometheus::Counter& sent_bytes;           // tallyd_http_sent_bytes_total
  prometheus::Gauge& connections;            // tallyd_http_connections
  prometheus::Counter& refused_connections;  // ..._connections_refused_total
  TlsMetrics tls;

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
