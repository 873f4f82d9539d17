// What TLS tells of itself. Resolved once at start: fixed label sets. Thread-safe.
#ifndef TALLYD_API_METRICS_TLS_METRICS_H_
#define TALLYD_API_METRICS_TLS_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <array>

#include "api/tls/tls_channel.h"
#include "api/tls/tls_context.h"

namespace tallyd {

struct TlsMetrics {
  explicit TlsMetrics(prometheus::Registry& registry);

  prometheus::Counter& Failed(TlsFailure failure) { return *failed[static_cast<size_t>(failure)]; }
  void Describe(const TlsContext& context);

  prometheus::Gauge& connections;  // tallyd_tls_connections
  prometheus::Counter& full;       // tallyd_tls_handshakes_total{kind="full"}
  prometheus::Counter& resumed;    // ... {kind="resumed"}
  // tallyd_tls_handshakes_failed_total{reason}, in the order of TlsFailure.
  std::array<prometheus::Counter*, kTlsFailures> failed;
  prometheus::Gauge& valid_to;  // tallyd_tls_certificate_expires_timestamp_seconds; 0: no TLS.
};

}  // namespace tallyd

#endif  // TALLYD_API_METRICS_TLS_METRICS_H_
