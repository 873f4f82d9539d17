// What is stored of each stream: tallyd_events_total{stream}, and the newest time that an event had
// since the daemon began, tallyd_newest_event_timestamp_seconds{stream}. A stream that a reload
// took away keeps both until a restart. Thread-safe.
#ifndef TALLYD_SERVICE_METRICS_STREAM_METRICS_H_
#define TALLYD_SERVICE_METRICS_STREAM_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/time.h"

namespace tallyd {

class StreamMetrics {
 public:
  explicit StreamMetrics(prometheus::Registry& registry);
  StreamMetrics(const StreamMetrics&) = delete;
  StreamMetrics& operator=(const StreamMetrics&) = delete;

  // `stream` is one of the configuration: it becomes a label. It is told from then on, with zero
  // events.
  void Know(std::string_view stream);
  // `newest`: nothing where none of the events was stored.
  void Count(std::string_view stream, uint64_t events, std::optional<TimeUs> newest);

 private:
  struct OfStream {
    prometheus::Counter* events = nullptr;
    prometheus::Gauge* newest = nullptr;  // Null: nothing was stored yet.
    TimeUs newest_us = 0;
  };

  OfStream& Of(std::string_view stream);

  prometheus::Family<prometheus::Counter>& events_;
  prometheus::Family<prometheus::Gauge>& newest_;
  std::mutex mutex_;
  std::map<std::string, OfStream, std::less<>> streams_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_METRICS_STREAM_METRICS_H_
