// Which pages of other origins may call, and what answers tell their browsers (the Fetch standard,
// CORS): `server.cors`, which a reload replaces, and the headers. Nothing here lets a page send
// what the browser holds for it, as cookies or a client certificate: a page brings its token in
// Authorization, or none.
#ifndef TALLYD_API_CORS_H_
#define TALLYD_API_CORS_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/response.h"

namespace tallyd {

// Thread-safe. Whoever asks about a request that brings no Origin takes no lock.
class CorsOrigins {
 public:
  explicit CorsOrigins(std::vector<std::string> origins) { Set(std::move(origins)); }
  CorsOrigins(const CorsOrigins&) = delete;
  CorsOrigins& operator=(const CorsOrigins&) = delete;

  void Set(std::vector<std::string> origins);
  // Whether there are any, so that an answer depends on who asks.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  bool Has(std::string_view origin) const;

 private:
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> origins_;  // Guarded by mutex_.
};

// The header lines of an answer to a page of `origin`, one of CorsOrigins; of an empty one those
// that tell caches only that another page would be told more.
void AppendCors(std::string_view origin, std::string* head);

// The answer to OPTIONS of a path that takes the methods of `allow` ("GET, HEAD, OPTIONS"): 204. A
// page that asks beforehand is told what it may send, if `origin` is not empty.
Response AnswerOptions(std::string_view allow, std::string_view origin);

}  // namespace tallyd

#endif  // TALLYD_API_CORS_H_
