// From the head of a request to the endpoint of its route: the one way from a path to who answers.
#ifndef TALLYD_API_ROUTES_DISPATCH_H_
#define TALLYD_API_ROUTES_DISPATCH_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "api/endpoint/endpoint.h"
#include "api/response.h"
#include "api/routes/router.h"

namespace tallyd {

struct Dispatched {
  size_t route = 0;                    // An index; the number of routes if there is none.
  std::unique_ptr<Endpoint> endpoint;  // Null: no route.
};

// Tells route and endpoint, asks whether the request's principal may reach the route, gives
// the request its arguments and parameters, and has the endpoint admit it. What is refused before
// anybody asks for the body: its answer, in the form of the path's errors. OPTIONS
// is answered for every path, whoever asks. `foreign`: why the site that it comes from may not ask
// this, if so.
std::optional<Response> Dispatch(std::span<const Route> routes,
                                 const std::optional<std::string>& foreign, Exchange& exchange,
                                 Dispatched* dispatched);

}  // namespace tallyd

#endif  // TALLYD_API_ROUTES_DISPATCH_H_
