#include "api/metrics/metrics.h"

#include <string>

namespace tallyd {

namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;

prometheus::Counter& Counter(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

ApiMetrics::ApiMetrics(prometheus::Registry& registry)
    : ServiceMetrics(registry),
      idempotent_replays(Counter(registry, "tallyd_idempotent_replays_total",
                                 "Requests whose Idempotency-Key had its answer already: they "
                                 "got that answer, and had no effect.")),
      received_bytes(Counter(registry, "tallyd_http_received_bytes_total",
                             "Bytes of request bodies that came whole, as sent: "
                             "compressed, without the framing of chunks.")),
      sent_bytes(Counter(registry, "tallyd_http_sent_bytes_total",
                         "Bytes of answers as sent: compressed, heads included.")),
      connections(BuildGauge()
                      .Name("tallyd_http_connections")
                      .Help("Open connections.")
                      .Register(registry)
                      .Add({})),
      refused_connections(Counter(registry, "tallyd_http_connections_refused_total",
                                  "Connections beyond server.max_connections, told 503.")),
      tls(registry) {
  requests_family_ = &BuildCounter()
                          .Name("tallyd_http_requests_total")
                          .Help("Requests by route and by the class of the status of their answer.")
                          .Register(registry);
  seconds_family_ = &BuildHistogram()
                         .Name("tallyd_http_request_seconds")
                         .Help("From the end of the request to its answer, sent (a batch: ready).")
                         .Register(registry);
}

void ApiMetrics::AddRoutes(const std::vector<std::string_view>& routes) {
  const prometheus::Histogram::BucketBoundaries bounds = {
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
  for (const std::string_view name : routes) {
    Route route;
    for (size_t status_class = 0; status_class < route.by_class.size(); ++status_class) {
      route.by_class[status_class] =
          status_class < 2
              ? nullptr
              : &requests_family_->Add({{"route", std::string(name)},
                                        {"status", std::to_string(status_class) + "xx"}});
    }
    route.seconds = &seconds_family_->Add({{"route", std::string(name)}}, bounds);
    routes_.push_back(route);
  }
}

void ApiMetrics::CountRequest(size_t route, unsigned status, double seconds) {
  const Route& counters = routes_[route];
  prometheus::Counter* counter =
      counters.by_class[status >= 200 && status < 600 ? status / 100 : 5];
  counter->Increment();
  counters.seconds->Observe(seconds);
}

}  // namespace tallyd
