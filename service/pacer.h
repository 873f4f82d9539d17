// Pacer: keeps a job that runs behind everything else to its share of a core. It rests the job in
// between, for as long as that takes, and tells it when it is to stop.
//
//   auto since = Pacer::SteadyClock::now();
//   while (...) {
//     ...                                              // Some work.
//     if (Status go_on = pacer.Pace(&since); !go_on) return go_on;
//   }
#ifndef TALLYD_SERVICE_PACER_H_
#define TALLYD_SERVICE_PACER_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "config/values/result.h"

namespace tallyd {

class Pacer {
 public:
  using SteadyClock = std::chrono::steady_clock;

  // How the job is told to stop: `stopping` is guarded by `mutex`, and `wake` notified when it is
  // set. All outlive the pacer.
  struct Stop {
    std::mutex* mutex = nullptr;
    std::condition_variable* wake = nullptr;
    const bool* stopping = nullptr;
  };

  // `cpu`: the share. Less work than `every` is not rested from.
  Pacer(double cpu, std::chrono::milliseconds every, const Stop& stop)
      : cpu_(cpu), every_(every), stop_(stop) {}

  // `since`: when the work that it rests from began; set to now. kCancelled: the job is to stop.
  // REQUIRES: the mutex is not held.
  Status Pace(SteadyClock::time_point* since) const;

 private:
  const double cpu_;
  const std::chrono::milliseconds every_;
  const Stop stop_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_PACER_H_
