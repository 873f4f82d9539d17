// Leaving an I/O thread and coming back, for coroutines: RunBlocking and RunElsewhere post a job to
// a pool of threads that may block; AwaitClaim waits for an Idempotency-Key, AwaitCommit for a
// commit, AwaitRoom for memory. All resume on the executor that they were awaited on, by a post to
// it: whoever lets a coroutine go on (a pool, the owner of a key, the store's thread) runs none of
// it. What they wait for is over, or dropped, before the executor's context is destroyed.
#ifndef TALLYD_API_ENDPOINT_WAITS_H_
#define TALLYD_API_ENDPOINT_WAITS_H_

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "service/idempotency/keys.h"
#include "service/limits/query_memory.h"
#include "config/values/result.h"
#include "storage/store.h"

namespace tallyd {

// `job` must not throw. What it refers to must outlive the co_await, which cannot be cancelled.
boost::asio::awaitable<void> RunBlocking(boost::asio::thread_pool& pool, std::function<void()> job);

// The same of a job that may throw: what it throws comes out here.
boost::asio::awaitable<void> RunElsewhere(boost::asio::thread_pool& pool,
                                          std::function<void()> job);

// Waits while another request has the key.
boost::asio::awaitable<std::unique_ptr<KeyClaim>> AwaitClaim(IdempotencyKeys& keys,
                                                             const KeyedRequest& request);

// The fate of what `submit` submits: it is called at once.
boost::asio::awaitable<Status> AwaitCommit(std::function<void(CommitDone)> submit);

// How long a read waits for room before its answer begins, and for each chunk of it.
inline constexpr std::chrono::seconds kPatienceForRoom{20};

// Until there is room for what the read lacked. False: there was none in time, or the server
// drains. What was waited comes off *patience.
boost::asio::awaitable<bool> AwaitRoom(ReadMemory& memory, const std::atomic<bool>& draining,
                                       std::chrono::steady_clock::duration* patience);

}  // namespace tallyd

#endif  // TALLYD_API_ENDPOINT_WAITS_H_
