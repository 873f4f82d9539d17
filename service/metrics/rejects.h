// Writes that were refused: each is counted as tallyd_rejects_total{stream,reason}, and some are
// told in the log, so that somebody on call sees which sender is at fault and why: at most a line
// in ten seconds of each stream and reason, and a few a second of all. Thread-safe.
#ifndef TALLYD_SERVICE_METRICS_REJECTS_H_
#define TALLYD_SERVICE_METRICS_REJECTS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/registry.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/result.h"

namespace tallyd {

enum class RejectReason : uint8_t {
  kMalformed,
  kEvent,
  kTooLarge,
  kUnsupported,
  kOverloaded,
  kStorage,
  kHttp
};
inline constexpr size_t kRejectReasons = 7;
std::string_view ToString(RejectReason reason);
// Under which a write is counted that failed so.
RejectReason ReasonOf(ErrorCode code);

class Rejects {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kQuiet{10};
  static constexpr size_t kLinesPerSecond = 5;
  static constexpr size_t kDetailBytes = 200;  // Of a line; what clients sent may be long.

  explicit Rejects(prometheus::Registry& registry);
  Rejects(const Rejects&) = delete;
  Rejects& operator=(const Rejects&) = delete;

  // `stream` is one of the configuration, or empty where the write named none: it becomes a label.
  // `peer`: who sent it.
  void Count(std::string_view stream, RejectReason reason, std::string_view detail,
             std::string_view peer);

  // Count's line for the log, if one is due.
  std::optional<std::string> Note(std::string_view stream, RejectReason reason,
                                  std::string_view detail, std::string_view peer, Time now);

 private:
  struct Series {
    prometheus::Counter* counter = nullptr;
    uint64_t untold = 0;
    std::optional<Time> told;
  };
  using OfStream = std::array<Series, kRejectReasons>;

  OfStream& Of(std::string_view stream);
  bool TakeLine(Time now);

  prometheus::Family<prometheus::Counter>& family_;
  std::mutex mutex_;
  std::map<std::string, OfStream, std::less<>> streams_;
  Time second_;  // The one in which lines_ were told.
  size_t lines_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_METRICS_REJECTS_H_
