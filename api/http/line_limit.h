// LineLimit: what happens for each request or connection, and is worth a line of the log, is at
// most one line a second of each kind; the line says how many were left out since the one before.
// Thread-safe.
#ifndef TALLYD_API_HTTP_LINE_LIMIT_H_
#define TALLYD_API_HTTP_LINE_LIMIT_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tallyd {

class LineLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kQuiet{1};
  static constexpr size_t kMostKinds = 1000;  // What comes beyond is of one kind.

  // What goes behind the line, as " (12 more of this kind were left out)", or nothing; no value:
  // the line is not to be written. `kind` is one of a few: a route and a status, not what a client
  // chose.
  std::optional<std::string> Take(std::string_view kind, Time now);
  std::optional<std::string> Take(std::string_view kind) {
    return Take(kind, std::chrono::steady_clock::now());
  }

 private:
  struct Kind {
    Time told;
    uint64_t left_out = 0;
  };

  std::mutex mutex_;
  std::map<std::string, Kind, std::less<>> kinds_;  // Guarded by mutex_.
};

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_LINE_LIMIT_H_
