#include "api/routes/dispatch.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "api/access/refusals.h"
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

// Of who asks without being anybody: the same whatever was wrong, so that it tells nothing of the
// tokens that there are.
Response RefusalOfNobody(const Exchange& exchange) {
  const Request& request = exchange.request;
  if (exchange.context.failed_logins.Exceeds(request.peer, request.has_credentials)) {
    return Problem(429, "too many attempts without a good token came from this address");
  }
  return Unauthorized();
}

// A principal with a scope, at a route that does not know of scopes.
Response RefusalOfScope(const Route& route, const Principal& principal) {
  if (route.for_scoped == ForScoped::kNever) {
    return Problem(403, fmt::format("this tells of the whole daemon, or changes it, and {} has a "
                                    "scope",
                                    principal.name));
  }
  return Problem(403, fmt::format("this is not for tokens with a scope, and {} has one",
                                  principal.name));
}

Response StillStarting(ApiContext& context) {
  return ProblemOf(Error(ErrorCode::kUnavailable,
                         fmt::format("the daemon waits for its store: {}; /v1/status tells more",
                                     context.store.Trouble())));
}

void IdentifyByParameter(const Route& route, Exchange& exchange) {
  Request& request = exchange.request;
  if (request.principal != nullptr || route.token_parameter.empty()) return;
  const Result<Params> params = Params::Parse(request.query);
  const auto token = params ? params->Get(route.token_parameter) : std::nullopt;
  if (!token) return;
  request.has_credentials = true;
  request.principal = exchange.context.tokens.Find(*token, exchange.context.clock.Now());
}

// Nothing: whoever asks may.
std::optional<Response> RefusalOfCaller(const Route& route,
                                        const std::optional<std::string>& foreign,
                                        const Exchange& exchange) {
  const Principal* const principal = exchange.request.principal.get();
  if (route.role && principal == nullptr) return RefusalOfNobody(exchange);
  if (foreign) return Problem(403, *foreign);
  if (!route.role) return std::nullopt;
  const bool has_other = route.or_role && principal->roles.Have(*route.or_role);
  if (!has_other && !principal->roles.Have(*route.role)) return LacksRole(*principal, *route.role);
  if (principal->is_scoped() && route.for_scoped != ForScoped::kBounded) {
    return RefusalOfScope(route, *principal);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Response> Dispatch(std::span<const Route> routes,
                                 const std::optional<std::string>& foreign, Exchange& exchange,
                                 Dispatched* dispatched) {
  Request& request = exchange.request;
  Match match = FindRoute(routes, request.method, request.path);
  dispatched->route = match.route;
  if (match.route == routes.size()) {
    // Which paths there are is told to whoever may ask something, and by OPTIONS.
    const bool is_options = request.method == Method::kOptions;
    if (request.principal == nullptr && !is_options) return RefusalOfNobody(exchange);
    if (foreign) return Problem(403, *foreign);
    if (is_options) {
      return AnswerOptions(match.allow.empty() ? "OPTIONS" : match.allow, request.cors_origin);
    }
    Response refusal = NothingThere(routes, request, match);
    if (match.allow.empty()) return refusal;
    // In the form of errors on its path.
    return routes[match.of_path].make(exchange)->Refused(RejectReason::kHttp, std::move(refusal));
  }
  dispatched->endpoint = routes[match.route].make(exchange);
  Endpoint& endpoint = *dispatched->endpoint;
  IdentifyByParameter(routes[match.route], exchange);
  if (auto refusal = RefusalOfCaller(routes[match.route], foreign, exchange)) {
    return endpoint.Refused(RejectReason::kHttp, std::move(*refusal));
  }
  if (exchange.context.starting && !routes[match.route].needs_no_store) {
    return endpoint.Refused(RejectReason::kOverloaded, StillStarting(exchange.context));
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
