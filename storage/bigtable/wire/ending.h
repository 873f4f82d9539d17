// Ending: whether anybody is still to wait for a service that may be away. Whoever waits before a
// call waits here, so that the daemon's end wakes it. Thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_WIRE_ENDING_H_
#define TALLYD_STORAGE_BIGTABLE_WIRE_ENDING_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tallyd {

class Ending {
 public:
  // Nobody waits from now on. Idempotent.
  void Begin() {
    const std::lock_guard lock(mutex_);
    has_begun_ = true;
    begun_.notify_all();
  }
  // Blocks until then, or until the end begins: true.
  bool WaitUntil(std::chrono::steady_clock::time_point when) const {
    std::unique_lock lock(mutex_);
    return begun_.wait_until(lock, when, [this] { return has_begun_; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable begun_;
  bool has_begun_ = false;  // Guarded by mutex_.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WIRE_ENDING_H_
