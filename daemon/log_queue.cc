#include "daemon/log_queue.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <utility>

namespace tallyd {

LogQueue::LogQueue(int descriptor, std::function<void(uint64_t)> tell_dropped)
    : descriptor_(descriptor), tell_dropped_(std::move(tell_dropped)) {
  // It cannot be joined while a write hangs, and so is nobody's to wait for.
  std::thread([this] { Run(); }).detach();
}

bool LogQueue::Put(std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + line.size() > kMostBytes) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    waiting_.append(line);
    put_bytes_ += line.size();
  }
  came_.notify_one();
  return true;
}

bool LogQueue::Drain(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const uint64_t all = put_bytes_;
  return written_.wait_for(lock, patience, [&] { return done_bytes_ >= all; });
}

void LogQueue::Run() {
  std::string taken;
  uint64_t told = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      came_.wait(lock, [&] { return !waiting_.empty(); });
      taken.swap(waiting_);
    }
    Write(taken);
    {
      const std::lock_guard lock(mutex_);
      done_bytes_ += taken.size();
    }
    written_.notify_all();
    taken.clear();
    const uint64_t dropped = this->dropped();
    if (dropped > told && tell_dropped_) tell_dropped_(dropped - std::exchange(told, dropped));
  }
}

// A descriptor that others have made one that does not wait is waited for here.
void LogQueue::Write(std::string_view lines) const {
  while (!lines.empty()) {
    const ssize_t wrote = ::write(descriptor_, lines.data(), lines.size());
    if (wrote > 0) {
      lines.remove_prefix(static_cast<size_t>(wrote));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd ready{descriptor_, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;  // Nobody is left who could be told.
    }
  }
}

}  // namespace tallyd
