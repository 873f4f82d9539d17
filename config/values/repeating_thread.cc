#include "config/values/repeating_thread.h"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

namespace tallyd {

void RepeatingThread::Start(Wait first, Work work) {
  thread_ = std::jthread([first, work = std::move(work)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    const auto is_stopped = [&stop] { return stop.stop_requested(); };
    Wait wait = first;
    while (!stopped.wait_for(lock, stop, wait, is_stopped)) wait = work();
  });
}

bool RepeatingThread::Stop() {
  if (!thread_.joinable()) return false;
  thread_.request_stop();
  thread_.join();
  return true;
}

}  // namespace tallyd
