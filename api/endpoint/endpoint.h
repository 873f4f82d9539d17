// Endpoint: what a route does with one request, made by the route's row of the list (routes/router)
// when the request's head has come. The session asks for its steps in this order and knows nothing
// else of it:
//
//   Admit    what is refused by the head alone, before the body is asked for
//   (body)   the session reads it, within the bounds of the server
//   Answer   the answer: whole, or with the source of what follows
//
// What the session itself refuses meanwhile (a body that is too large or late) goes through
// Refused: so a protocol owns its paths (rows of the list), which bodies it takes (Admit), what
// becomes of a request that is good in part (Answer), and the form of every error on its paths.
//
// All of it runs on the connection's I/O thread and must not block: an Answer awaits what takes
// long (waits.h), and goes on there. An endpoint ends before its answer is sent.
#ifndef TALLYD_API_ENDPOINT_ENDPOINT_H_
#define TALLYD_API_ENDPOINT_ENDPOINT_H_

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "api/context.h"
#include "api/endpoint/workspace.h"
#include "service/metrics/rejects.h"
#include "api/request.h"
#include "api/response.h"

namespace tallyd {

// Where an endpoint has others work for it. Of the server; outlives every request.
struct EndpointThreads {
  boost::asio::thread_pool& queries;
  boost::asio::thread_pool& operations;
  // For short looks at the disk on the way of a write, which no query may hold up.
  boost::asio::thread_pool& lookups;
  // For large bodies, while which are decoded small ones of other connections are served.
  boost::asio::thread_pool& decoding;
  std::atomic<size_t>& waiting_queries;
  const std::atomic<bool>& draining;
};

// A request under way, as its endpoint finds it. Of the session, as is all that it refers to;
// outlives the endpoint.
struct Exchange {
  Request& request;
  RequestBody& body;
  ApiContext& context;
  const EndpointThreads& threads;
};

// Which requests that would change something have a line of the log of their own.
enum class LoggedChanges : uint8_t { kAll, kRefused, kNone };

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // The request's arguments and parameters are known. Nothing: go on.
  virtual std::optional<Response> Admit() { return std::nullopt; }
  // Once, if the request was admitted and its body is there.
  virtual boost::asio::awaitable<Response> Answer() = 0;
  // A refusal by somebody else, in the form of errors on this path; counts it, where its kind is
  // counted. `problem` says status and detail in the form of the daemon's own routes.
  virtual Response Refused(RejectReason /*reason*/, Response problem) { return problem; }
  virtual LoggedChanges logged_changes() const { return LoggedChanges::kAll; }

 protected:
  explicit Endpoint(Exchange& exchange) : exchange_(exchange) {}

  Request& request() { return exchange_.request; }
  ApiContext& context() { return exchange_.context; }

  Exchange& exchange_;
};

}  // namespace tallyd

#endif  // TALLYD_API_ENDPOINT_ENDPOINT_H_
