#include "api/routes/dispatch.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "api/cors.h"

namespace tallyd {

namespace {

Response NothingThere(std::span<const Route> routes, const Request& request, const Match& match) {
  if (match.allow.empty()) {
    const std::string near = FindNearPath(routes, request.path);
    return Problem(404, "there is nothing at this path" +
                            (near.empty() ? "" : "; the nearest is " + near) +
                            "; docs/http.md lists the routes");
  }
  Response refusal = Problem(405, "this path answers " + match.allow);
  refusal.headers.emplace_back("Allow", match.allow);
  return refusal;
}

// Nothing: the principal may ask.
std::optional<Response> RefusalOfRole(const Route& route, const Principal* principal) {
  if (!route.role || (principal != nullptr && principal->roles.Have(*route.role))) {
    return std::nullopt;
  }
  const std::string_view needed = RoleName(*route.role);
  if (principal == nullptr || principal->name.empty()) {
    return Problem(403, fmt::format("this needs the role {}", needed));
  }
  return Problem(
      403, fmt::format("this needs the role {}, which {} does not have", needed, principal->name));
}

}  // namespace

std::optional<Response> Dispatch(std::span<const Route> routes,
                                 const std::optional<std::string>& foreign, Exchange& exchange,
                                 Dispatched* dispatched) {
  Request& request = exchange.request;
  Match match = FindRoute(routes, request.method, request.path);
  dispatched->route = match.route;
  if (match.route == routes.size()) {
    if (foreign) return Problem(403, *foreign);
    if (request.method == Method::kOptions) {
      return AnswerOptions(match.allow.empty() ? "OPTIONS" : match.allow, request.cors_origin);
    }
    return NothingThere(routes, request, match);
  }
  dispatched->endpoint = routes[match.route].make(exchange);
  Endpoint& endpoint = *dispatched->endpoint;
  if (foreign) return endpoint.Refused(RejectReason::kHttp, Problem(403, *foreign));
  if (auto refusal = RefusalOfRole(routes[match.route], request.principal.get())) {
    return endpoint.Refused(RejectReason::kHttp, std::move(*refusal));
  }
  if (match.malformed) {
    return endpoint.Refused(
        RejectReason::kMalformed,
        Problem(400, "a '%' in the path must be followed by two hexadecimal digits"));
  }
  Result<Params> params = Params::Parse(request.query);
  if (!params) return endpoint.Refused(RejectReason::kMalformed, ProblemOf(params.error()));
  request.params = std::move(*params);
  request.arguments = std::move(match.arguments);
  return endpoint.Admit();
}

}  // namespace tallyd
