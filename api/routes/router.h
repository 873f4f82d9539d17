// The one list of routes: method, path, role, and what makes the endpoint of a request. Everything
// that speaks of routes (matching, 405's Allow, metrics, the test that compares docs/openapi.yaml)
// reads it.
#ifndef TALLYD_API_ROUTES_ROUTER_H_
#define TALLYD_API_ROUTES_ROUTER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/endpoint/endpoint.h"
#include "api/request.h"
#include "service/principal.h"

namespace tallyd {

using MakeEndpoint = std::unique_ptr<Endpoint> (*)(Exchange& exchange);

// Whether a principal with a scope reaches a route.
enum class ForScoped : uint8_t {
  kNotYet,  // Nothing bounds yet what it tells and changes.
  kBounded,  // It tells and changes nothing but what the scope has.
  kNever,   // It tells of the whole daemon, or changes it.
};

struct Route {
  Method method;
  // "/v1/tables/{table}/rows"; {key} takes one segment, which may hold encoded slashes.
  std::string_view path;
  // What a principal must have to reach it. Nothing: anybody does, since it tells of no data.
  std::optional<Role> role;
  MakeEndpoint make;
  ForScoped for_scoped = ForScoped::kNotYet;
  // Of a protocol whose clients may bring their token in the query: the parameter. Empty: of all
  // others a token in a URL, which proxies and logs keep, is none.
  std::string_view token_parameter = {};
  // Whoever has this one reaches it as well.
  std::optional<Role> or_role = {};
  // It answers as well while the daemon waits for a store that is elsewhere and away.
  bool needs_no_store = false;
};

std::string_view MethodName(Method method);

std::span<const Route> Routes();
// A label for each of Routes() and, last, for what matches none: "GET /v1/streams".
std::vector<std::string> RouteNames();

struct Match {
  size_t route = 0;                    // An index; the number of routes if there is none.
  std::vector<std::string> arguments;  // Decoded.
  // "GET, HEAD, OPTIONS" where the path is known and has other methods; else empty.
  std::string allow;
  size_t of_path = 0;      // Then one of its routes: an index.
  bool malformed = false;  // The path has a broken percent escape.
};

Match FindRoute(std::span<const Route> routes, Method method, std::string_view path);

// Of a path that matches no route: the nearest that does and differs in one part, with the
// arguments of this one. Empty: there is none, or the path is long or has but one part.
std::string FindNearPath(std::span<const Route> routes, std::string_view path);

}  // namespace tallyd

#endif  // TALLYD_API_ROUTES_ROUTER_H_
