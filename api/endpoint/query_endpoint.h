// The endpoints of handlers (api/handlers.h): plain functions from a request to its answer.
//
//   InlineEndpoint       on the connection's own thread; the handler never blocks
//   QueryEndpoint        on a thread of a pool; where there is no room for what the query holds, it
//                        lets go of all, waits and runs again
//   KeyedQueryEndpoint   the same, when nobody else has the request's Idempotency-Key
#ifndef TALLYD_API_ENDPOINT_QUERY_ENDPOINT_H_
#define TALLYD_API_ENDPOINT_QUERY_ENDPOINT_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <optional>

#include "api/endpoint/endpoint.h"
#include "api/handlers.h"
#include "service/idempotency/keys.h"

namespace tallyd {

class InlineEndpoint final : public Endpoint {
 public:
  InlineEndpoint(Exchange& exchange, Handler handler) : Endpoint(exchange), handler_(handler) {}

  boost::asio::awaitable<Response> Answer() override;

 private:
  const Handler handler_;
};

class QueryEndpoint : public Endpoint {
 public:
  QueryEndpoint(Exchange& exchange, Handler handler, boost::asio::thread_pool& pool)
      : Endpoint(exchange), handler_(handler), pool_(pool) {}

  boost::asio::awaitable<Response> Answer() override;

 private:
  Response Run();  // On a thread of the pool.

  const Handler handler_;
  boost::asio::thread_pool& pool_;
};

// What a request with a key says, so that its repetitions are known.
using DescribeKeyed = KeyedRequest (*)(const Request& request);

class KeyedQueryEndpoint final : public QueryEndpoint {
 public:
  KeyedQueryEndpoint(Exchange& exchange, Handler handler, DescribeKeyed describe)
      : QueryEndpoint(exchange, handler, exchange.threads.queries), describe_(describe) {}

  std::optional<Response> Admit() override;
  boost::asio::awaitable<Response> Answer() override;
  // Mutations that are done are too many for a line each.
  LoggedChanges logged_changes() const override { return LoggedChanges::kRefused; }

 private:
  const DescribeKeyed describe_;
};

}  // namespace tallyd

#endif  // TALLYD_API_ENDPOINT_QUERY_ENDPOINT_H_
