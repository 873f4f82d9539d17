#include "api/cors.h"

#include <algorithm>
#include <utility>

namespace tallyd {

namespace {

// What a page could not read otherwise.
constexpr std::string_view kExposed = "Allow, Date, Link, Retry-After, WWW-Authenticate";
constexpr std::string_view kTaken =
    "Authorization, Content-Type, Content-Encoding, Idempotency-Key, Accept";
// In seconds; so long a browser may go by an origin that a reload has taken away, whose requests
// are then judged, and refused, one by one.
constexpr std::string_view kMaxAge = "600";

}  // namespace

void CorsOrigins::Set(std::vector<std::string> origins) {
  const std::lock_guard lock(mutex_);
  origins_ = std::move(origins);
  any_ = !origins_.empty();
}

bool CorsOrigins::Has(std::string_view origin) const {
  if (!any()) return false;
  const std::lock_guard lock(mutex_);
  return std::find(origins_.begin(), origins_.end(), origin) != origins_.end();
}

void AppendCors(std::string_view origin, std::string* head) {
  *head += "Vary: Origin\r\n";
  if (origin.empty()) return;
  head->append("Access-Control-Allow-Origin: ").append(origin);
  head->append("\r\nAccess-Control-Expose-Headers: ").append(kExposed).append("\r\n");
}

Response AnswerOptions(std::string_view allow, std::string_view origin) {
  Response response;
  response.status = 204;
  response.content_type.clear();
  response.headers.emplace_back("Allow", allow);
  if (origin.empty()) return response;
  response.headers.emplace_back("Access-Control-Allow-Methods", allow);
  response.headers.emplace_back("Access-Control-Allow-Headers", kTaken);
  response.headers.emplace_back("Access-Control-Max-Age", kMaxAge);
  return response;
}

}  // namespace tallyd
