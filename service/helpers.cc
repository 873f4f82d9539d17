#include "service/helpers.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>

namespace tallyd {
namespace {

// Outlives the call of Run in helpers that come too late to find work.
struct Job {
  size_t count = 0;
  const std::function<void(size_t)>* task = nullptr;  // Valid while some number is not done.
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::condition_variable changed;
  size_t done = 0;  // Guarded by mutex, like the next one.
  std::exception_ptr failure;

  void Work() {
    for (size_t i = next++; i < count; i = next++) {
      std::exception_ptr failed;
      try {
        (*task)(i);
      } catch (...) {
        failed = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      if (!failure) failure = failed;
      if (++done == count) changed.notify_all();
    }
  }
};

}  // namespace

Helpers::Helpers(size_t threads)
    : threads_(threads),
      pool_(threads > 0 ? std::make_unique<boost::asio::thread_pool>(threads) : nullptr) {}

Helpers::~Helpers() {
  if (pool_) pool_->join();
}

void Helpers::Run(size_t count, const std::function<void(size_t)>& task) {
  auto job = std::make_shared<Job>();
  job->count = count;
  job->task = &task;
  try {
    for (size_t i = 1; i < count && i <= threads_; ++i) {
      boost::asio::post(*pool_, [job] { job->Work(); });
    }
  } catch (const std::bad_alloc&) {
    // Fewer helpers then.
  }
  job->Work();
  std::unique_lock lock(job->mutex);
  job->changed.wait(lock, [&] { return job->done == count; });
  if (job->failure) std::rethrow_exception(job->failure);
}

}  // namespace tallyd
