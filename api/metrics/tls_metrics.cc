#include "api/metrics/tls_metrics.h"

#include <string>

namespace tallyd {

namespace {

prometheus::Counter& HandshakesOf(prometheus::Registry& registry, const char* kind) {
  return prometheus::BuildCounter()
      .Name("tallyd_tls_handshakes_total")
      .Help("TLS handshakes that were completed: full ones, and those that resumed a session.")
      .Register(registry)
      .Add({{"kind", kind}});
}

}  // namespace

TlsMetrics::TlsMetrics(prometheus::Registry& registry)
    : connections(prometheus::BuildGauge()
                      .Name("tallyd_tls_connections")
                      .Help("Open connections that speak TLS.")
                      .Register(registry)
                      .Add({})),
      full(HandshakesOf(registry, "full")),
      resumed(HandshakesOf(registry, "resumed")),
      failed(),
      valid_to(prometheus::BuildGauge()
                   .Name("tallyd_tls_certificate_expires_timestamp_seconds")
                   .Help("When the certificate that is shown expires; 0: there is none.")
                   .Register(registry)
                   .Add({})) {
  auto& family = prometheus::BuildCounter()
                     .Name("tallyd_tls_handshakes_failed_total")
                     .Help("TLS handshakes that came to nothing, by why.")
                     .Register(registry);
  for (size_t i = 0; i < failed.size(); ++i) {
    failed[i] = &family.Add({{"reason", std::string(NameOf(static_cast<TlsFailure>(i)))}});
  }
}

void TlsMetrics::Describe(const TlsContext& context) {
  valid_to.Set(static_cast<double>(context.valid_to()) / kUsPerSecond);
}

}  // namespace tallyd
