// A request that came with an Idempotency-Key, as its endpoint handles it.
#ifndef TALLYD_API_ENDPOINT_KEYED_H_
#define TALLYD_API_ENDPOINT_KEYED_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "api/endpoint/endpoint.h"
#include "service/idempotency/keys.h"

namespace tallyd {

// What the head says of the request's key, if there is one: a refusal of one that none can be.
std::optional<Response> RefusalOfKey(Exchange& exchange, Endpoint& endpoint);

// Waits while a twin of the request is handled. The answer, where one was given before or none can
// be; nothing: the request is the first of its key, and is so as long as *claim lives.
boost::asio::awaitable<std::optional<Response>> AnswerByKey(Exchange& exchange, Endpoint& endpoint,
                                                            KeyedRequest keyed,
                                                            std::unique_ptr<KeyClaim>* claim);

}  // namespace tallyd

#endif  // TALLYD_API_ENDPOINT_KEYED_H_
