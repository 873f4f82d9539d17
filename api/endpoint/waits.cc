#include "api/endpoint/waits.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

namespace tallyd {

namespace asio = boost::asio;

namespace {

constexpr auto kBetweenLooksForRoom = std::chrono::milliseconds(20);

// Initiations are named types and not lambdas: g++ 12 destroys the captures of a lambda inside a
// co_await expression twice.
struct JobInitiation {
  asio::thread_pool* pool;
  std::function<void()> job;

  template <class Handler>
  void operator()(Handler&& handler) {
    auto executor = asio::get_associated_executor(handler);
    asio::post(*pool, [work = asio::make_work_guard(executor), executor, run = std::move(job),
                       resume = std::forward<Handler>(handler)]() mutable {
      run();
      asio::post(executor, std::move(resume));
    });
  }
};

template <class Handler>
struct ResumeWithClaim {
  Handler handler;
  std::unique_ptr<KeyClaim> claim;
  void operator()() { std::move(handler)(std::move(claim)); }
};

struct ClaimInitiation {
  IdempotencyKeys* keys;
  const KeyedRequest* request;

  template <class Handler>
  void operator()(Handler&& handler) {
    using Plain = std::decay_t<Handler>;
    auto executor = asio::get_associated_executor(handler);
    // std::function must be copyable, the handler is not.
    auto shared = std::make_shared<Plain>(std::forward<Handler>(handler));
    keys->Claim(*request, [shared, executor, work = asio::make_work_guard(executor)](
                              std::unique_ptr<KeyClaim> claim) mutable {
      asio::post(executor, ResumeWithClaim<Plain>{std::move(*shared), std::move(claim)});
    });
  }
};

template <class Handler>
struct ResumeCommitted {
  Handler handler;
  Status committed;
  void operator()() { std::move(handler)(std::move(committed)); }
};

struct CommitInitiation {
  std::function<void(CommitDone)> submit;

  template <class Handler>
  void operator()(Handler&& handler) {
    using Plain = std::decay_t<Handler>;
    auto executor = asio::get_associated_executor(handler);
    auto shared = std::make_shared<Plain>(std::forward<Handler>(handler));
    submit([shared = std::move(shared), executor](Status committed) {
      asio::post(executor, ResumeCommitted<Plain>{std::move(*shared), std::move(committed)});
    });
  }
};

}  // namespace

asio::awaitable<void> RunBlocking(asio::thread_pool& pool, std::function<void()> job) {
  JobInitiation initiation{&pool, std::move(job)};
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(std::move(initiation),
                                                                       asio::use_awaitable);
}

asio::awaitable<void> RunElsewhere(asio::thread_pool& pool, std::function<void()> job) {
  std::exception_ptr thrown;
  std::function<void()> guarded = [&job, &thrown] {
    try {
      job();
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  co_await RunBlocking(pool, std::move(guarded));
  if (thrown) std::rethrow_exception(thrown);
}

asio::awaitable<std::unique_ptr<KeyClaim>> AwaitClaim(IdempotencyKeys& keys,
                                                      const KeyedRequest& request) {
  ClaimInitiation initiation{&keys, &request};
  std::unique_ptr<KeyClaim> claim =
      co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::unique_ptr<KeyClaim>)>(
          std::move(initiation), asio::use_awaitable);
  co_return claim;
}

asio::awaitable<Status> AwaitCommit(std::function<void(CommitDone)> submit) {
  CommitInitiation initiation{std::move(submit)};
  Status committed = co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Status)>(
      std::move(initiation), asio::use_awaitable);
  co_return committed;
}

asio::awaitable<bool> AwaitRoom(ReadMemory& memory, const std::atomic<bool>& draining,
                                std::chrono::steady_clock::duration* patience) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const auto begin = std::chrono::steady_clock::now();
  bool has_room = memory.Admit();
  while (!has_room && std::chrono::steady_clock::now() - begin < *patience && !draining) {
    timer.expires_after(kBetweenLooksForRoom);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    has_room = memory.Admit();
  }
  *patience -= std::min(*patience, std::chrono::steady_clock::now() - begin);
  co_return has_room;
}

}  // namespace tallyd
