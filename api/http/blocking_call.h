// Leaving an I/O thread and coming back, for coroutines: RunBlocking posts a job to a pool of
// threads that may block; AwaitClaim waits for an Idempotency-Key. Both resume on the executor they
// were awaited on.
#ifndef TALLYD_API_HTTP_BLOCKING_CALL_H_
#define TALLYD_API_HTTP_BLOCKING_CALL_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>

#include "service/idempotency/keys.h"

namespace tallyd {

// `job` must not throw. What it refers to must outlive the co_await, which cannot be cancelled.
boost::asio::awaitable<void> RunBlocking(boost::asio::thread_pool& pool, std::function<void()> job);

// Waits while another request has the key.
boost::asio::awaitable<std::unique_ptr<KeyClaim>> AwaitClaim(IdempotencyKeys& keys,
                                                             const KeyedRequest& request);

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_BLOCKING_CALL_H_
