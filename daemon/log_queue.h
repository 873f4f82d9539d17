// LogQueue: lines on their way to a descriptor that may take none, as a pipe that nobody reads.
// Whoever logs puts a line and goes on; a thread of its own writes, and is the only one to wait.
// What the bound has no room for is dropped and counted, and once the descriptor takes lines again
// one of them says how many there were.
//
//   LogQueue& queue = *new LogQueue(STDERR_FILENO);  // For as long as the process lives:
//   queue.Put("...\n");                              // its thread may be stuck in a write.
//   queue.Drain(2s);                                 // At the end, and before a fatal one.
//
// Thread-safe. Never destroyed.
#ifndef TALLYD_DAEMON_LOG_QUEUE_H_
#define TALLYD_DAEMON_LOG_QUEUE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace tallyd {

class LogQueue {
 public:
  static constexpr size_t kMostBytes = 1u << 20;  // Waiting, beside what is being written.

  // `tell_dropped` is called on the queue's thread, outside of all locks, with how many lines were
  // dropped since it was called last; what it puts is one line more.
  LogQueue(int descriptor, std::function<void(uint64_t)> tell_dropped);
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  // A whole line, its end included. Never waits for the descriptor. False: it is dropped.
  bool Put(std::string_view line);
  // Waits until all that was put before is written, for so long at most. False: it is not.
  bool Drain(std::chrono::milliseconds patience);
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  ~LogQueue() = default;
  void Run();
  void Write(std::string_view lines) const;

  const int descriptor_;
  const std::function<void(uint64_t)> tell_dropped_;
  std::atomic<uint64_t> dropped_{0};
  std::mutex mutex_;
  std::condition_variable came_;
  std::condition_variable written_;
  std::string waiting_;      // Guarded by mutex_, like the next two.
  uint64_t put_bytes_ = 0;   // Ever.
  uint64_t done_bytes_ = 0;  // Of these: written, or given up as the descriptor is broken.
};

}  // namespace tallyd

#endif  // TALLYD_DAEMON_LOG_QUEUE_H_
