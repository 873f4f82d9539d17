// The one list of routes: method, path, name, handler. Everything that speaks of routes (matching,
// 405's Allow, metrics, the test that compares docs/openapi.yaml) reads it.
#ifndef TALLYD_API_ROUTER_H_
#define TALLYD_API_ROUTER_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/handlers.h"
#include "api/request.h"

namespace tallyd {

// How a route runs. Inline: on the I/O thread, it never blocks. Ingest: the asynchronous write
// path. Query: on a query thread; keyed: when nobody else has its Idempotency-Key. Operation: on a
// thread of its own, it may take minutes.
enum class RunsOn : uint8_t { kInline, kIngest, kQuery, kKeyedQuery, kOperation };

struct Route {
  Method method;
  // "/v1/tables/{table}/rows"; {key} takes one segment, which may hold encoded slashes.
  std::string_view path;
  RunsOn runs_on;
  Handler handler;  // Null for kIngest.
};

// Whether an Idempotency-Key of its requests counts.
inline bool TakesKey(const Route& route) {
  return route.runs_on == RunsOn::kIngest || route.runs_on == RunsOn::kKeyedQuery;
}

std::string_view MethodName(Method method);

std::span<const Route> Routes();
// The index in Routes() of requests that match none.
size_t UnmatchedRoute();
// A label for each route and, last, for what matches none: "GET /v1/streams".
std::vector<std::string> RouteNames();

struct Match {
  size_t route = 0;                    // UnmatchedRoute() if none.
  std::vector<std::string> arguments;  // Decoded.
  // "GET, POST" where the path is known and has other methods; else empty.
  std::string allow;
  bool malformed = false;  // The path has a broken percent escape.
};

Match FindRoute(Method method, std::string_view path);

// Of a path that matches no route: the nearest that does and differs in one part, with the
// arguments of this one. Empty: there is none, or the path is long or has but one part.
std::string FindNearPath(std::string_view path);

}  // namespace tallyd

#endif  // TALLYD_API_ROUTER_H_
