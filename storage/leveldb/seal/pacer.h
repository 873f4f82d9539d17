// Pacer: keeps background work to its share of a core. One thread.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_PACER_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_PACER_H_

#include <chrono>
#include <ctime>
#include <functional>
#include <thread>

namespace tallyd {

class Pacer {
 public:
  // `in_a_hurry` tells whether the share does not count.
  Pacer(double share, std::function<bool()> in_a_hurry)
      : share_(share), in_a_hurry_(std::move(in_a_hurry)), spent_(Spent()) {}

  // Sleeps for as long as what was worked since the last call takes to become the share.
  void Pace() {
    const std::chrono::nanoseconds now = Spent();
    const std::chrono::nanoseconds worked = now - spent_;
    if (worked < kStep) return;
    spent_ = now;
    if (share_ >= 1 || in_a_hurry_()) return;
    std::this_thread::sleep_for(worked * (1 / share_ - 1));
  }

 private:
  static constexpr std::chrono::nanoseconds kStep = std::chrono::milliseconds(2);

  static std::chrono::nanoseconds Spent() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  const double share_;
  const std::function<bool()> in_a_hurry_;
  std::chrono::nanoseconds spent_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_PACER_H_
