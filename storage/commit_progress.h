// CommitProgress: since when the thread that commits is at what it does: one group of batches, or
// one try to recover. Who commits says when it begins and ends; who watches over it compares.
//
// A step that neither ends nor fails is told from the next one by when it began. Thread-safe: one
// writer, any readers; a store for each group, and nothing for what is in it.
#ifndef TALLYD_STORAGE_COMMIT_PROGRESS_H_
#define TALLYD_STORAGE_COMMIT_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tallyd {

class CommitProgress {
 public:
  // In microseconds of the steady clock.
  static int64_t NowUs() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  }

  void Begin() { began_us_.store(NowUs(), std::memory_order_relaxed); }
  void End() { began_us_.store(0, std::memory_order_relaxed); }
  // When the step that runs began, by NowUs; 0: none runs.
  int64_t began_us() const { return began_us_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> began_us_{0};
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_COMMIT_PROGRESS_H_
