// Helpers: threads that take a share of a request's work while they are free. Whoever asks works,
// too, so that nobody waits for a helper that has not begun: where all are busy, the caller does
// everything itself. Thread-safe.
#ifndef TALLYD_SERVICE_HELPERS_H_
#define TALLYD_SERVICE_HELPERS_H_

#include <cstddef>
#include <functional>
#include <memory>

namespace boost::asio {
class thread_pool;
}

namespace tallyd {

class Helpers {
 public:
  explicit Helpers(size_t threads);  // 0: callers are alone.
  ~Helpers();                        // Waits for tasks that run.
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  size_t threads() const { return threads_; }

  // Calls task(0), ..., task(count - 1), each once and several at a time; returns when all have
  // returned. Throws on what the first task that failed threw.
  void Run(size_t count, const std::function<void(size_t)>& task);

 private:
  const size_t threads_;
  const std::unique_ptr<boost::asio::thread_pool> pool_;  // Null: no threads.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_HELPERS_H_
