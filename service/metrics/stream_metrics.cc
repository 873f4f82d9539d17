#include "service/metrics/stream_metrics.h"

namespace tallyd {

StreamMetrics::StreamMetrics(prometheus::Registry& registry)
    : events_(prometheus::BuildCounter()
                  .Name("tallyd_events_total")
                  .Help("Events stored, by stream.")
                  .Register(registry)),
      newest_(prometheus::BuildGauge()
                  .Name("tallyd_newest_event_timestamp_seconds")
                  .Help("The newest time of an event of the stream that was stored since the "
                        "daemon began.")
                  .Register(registry)) {}

StreamMetrics::OfStream& StreamMetrics::Of(std::string_view stream) {
  const auto found = streams_.find(stream);
  if (found != streams_.end()) return found->second;
  OfStream& added = streams_[std::string(stream)];
  added.events = &events_.Add({{"stream", std::string(stream)}});
  return added;
}

void StreamMetrics::Know(std::string_view stream) {
  const std::lock_guard lock(mutex_);
  Of(stream);
}

void StreamMetrics::Count(std::string_view stream, uint64_t events, std::optional<TimeUs> newest) {
  const std::lock_guard lock(mutex_);
  OfStream& of = Of(stream);
  of.events->Increment(static_cast<double>(events));
  if (!newest || (of.newest != nullptr && *newest <= of.newest_us)) return;
  if (of.newest == nullptr) of.newest = &newest_.Add({{"stream", std::string(stream)}});
  of.newest_us = *newest;
  of.newest->Set(static_cast<double>(*newest) / kUsPerSecond);
}

}  // namespace tallyd
