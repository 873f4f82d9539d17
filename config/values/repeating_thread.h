// RepeatingThread: a thread that does one thing again and again, with a wait in between, until it
// is stopped.
//
//   thread.Start(kEvery, [this] { Look(); return kEvery; });   // First after kEvery.
//   if (thread.Stop()) Save();                                 // A last time, on this thread.
//
// What else than time or the end wakes it up, it does not know: a thread that waits for work has a
// condition of its own.
#ifndef TALLYD_CONFIG_VALUES_REPEATING_THREAD_H_
#define TALLYD_CONFIG_VALUES_REPEATING_THREAD_H_

#include <chrono>
#include <functional>
#include <thread>

namespace tallyd {

class RepeatingThread {
 public:
  using Wait = std::chrono::milliseconds;
  // Returns how long it is not to be done. What it uses outlives the thread.
  using Work = std::function<Wait()>;

  RepeatingThread() = default;
  ~RepeatingThread() { Stop(); }
  RepeatingThread(const RepeatingThread&) = delete;
  RepeatingThread& operator=(const RepeatingThread&) = delete;

  // `first`: the wait before the first time. Once.
  void Start(Wait first, Work work);
  // Ends a wait at once, and waits for work that is being done. False: it was not running. Of the
  // thread that calls Start.
  bool Stop();

 private:
  std::jthread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_REPEATING_THREAD_H_
