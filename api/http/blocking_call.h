// Leaving an I/O thread and coming back, for coroutines: RunBlocking posts a job to a pool of
// threads that may block; AwaitCommit gives a batch to the store and waits for its fate; AwaitClaim
// waits for an Idempotency-Key. All resume on the executor they were awaited on.
#ifndef TALLYD_API_HTTP_BLOCKING_CALL_H_
#define TALLYD_API_HTTP_BLOCKING_CALL_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>

#include "api/idempotency/keys.h"
#include "storage/store.h"

namespace tallyd {

// `job` must not throw. What it refers to must outlive the co_await, which cannot be cancelled.
boost::asio::awaitable<void> RunBlocking(boost::asio::thread_pool& pool, std::function<void()> job);

boost::asio::awaitable<Status> AwaitCommit(Store& store, std::unique_ptr<Batch> batch);

// Waits while another request has the key.
boost::asio::awaitable<std::unique_ptr<KeyClaim>> AwaitClaim(IdempotencyKeys& keys,
                                                             const KeyedRequest& request);

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_BLOCKING_CALL_H_
