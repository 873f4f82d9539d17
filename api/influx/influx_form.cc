#include "api/influx/influx_form.h"

#include <fmt/format.h>

#include <atomic>
#include <random>
#include <string>
#include <utility>

#include "ingest/text/json.h"

namespace tallyd {
namespace {

constexpr std::string_view kTooLargeInV1 = "Request Entity Too Large";

std::string_view CodeInV2(unsigned status) {
  switch (status) {
    case 401:
      return "unauthorized";
    case 403:
      return "forbidden";
    case 404:
      return "not found";
    case 405:
      return "method not allowed";
    case 413:
      return "request too large";
    case 422:
      return "unprocessable entity";
    case 503:
    case 507:
      return "unavailable";
    default:
      return status < 500 ? "invalid" : "internal error";
  }
}

// No two requests of this process have the same, nor, as far as chance goes, those of others.
std::string NextRequestId() {
  static const uint64_t process = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  static std::atomic<uint64_t> requests = 0;
  const uint64_t number = ++requests;
  return fmt::format("{:08x}-{:04x}-1{:03x}-8{:03x}-{:012x}", process >> 32, process >> 16 & 0xFFFF,
                     process >> 4 & 0xFFF, number >> 48 & 0xFFF, number & 0xFFFF'FFFF'FFFF);
}

}  // namespace

Response InInfluxForm(InfluxDialect dialect, Response problem) {
  LetAgentsTryAgain(&problem);
  std::string_view message = problem.problem;
  if (dialect == InfluxDialect::kV1 && problem.status == 413) message = kTooLargeInV1;
  const std::string code(CodeInV2(problem.status));
  const Json body = dialect == InfluxDialect::kV2 ? Json{{"code", code}, {"message", message}}
                                                  : Json{{"error", message}};
  Response response = Response::Of(problem.status, body);
  response.headers = std::move(problem.headers);
  if (dialect == InfluxDialect::kV2) response.headers.emplace_back("X-Platform-Error-Code", code);
  AddInfluxHeaders(&response);
  response.problem = std::move(problem.problem);
  return response;
}

Response InfluxError(InfluxDialect dialect, unsigned status, std::string_view message) {
  return InInfluxForm(dialect, Problem(status, message));
}

Response InfluxErrorOf(InfluxDialect dialect, const Error& error) {
  return InInfluxForm(dialect, ProblemOf(error));
}

void AddInfluxHeaders(Response* response) {
  response->headers.emplace_back("X-Influxdb-Version", kSpokenInflux);
  response->headers.emplace_back("X-Influxdb-Build", "tallyd");
  const std::string id = NextRequestId();
  response->headers.emplace_back("Request-Id", id);
  response->headers.emplace_back("X-Request-Id", id);
}

}  // namespace tallyd
