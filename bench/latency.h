#ifndef TALLYD_BENCH_LATENCY_H_
#define TALLYD_BENCH_LATENCY_H_

// Latency keeps every request's duration, for exact quantiles. One thread per object; Merge() after
// they end.

#include <chrono>
#include <vector>

namespace tallyd::bench {

using Clock = std::chrono::steady_clock;

inline double SecondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

class Latency {
 public:
  void Add(Clock::duration duration);
  void Merge(const Latency& other);

  // The duration, in milliseconds, that a `quantile` (0 to 1) of the requests did not exceed; 0
  // without any.
  double Milliseconds(double quantile) const;

 private:
  std::vector<double> milliseconds_;
};

}  // namespace tallyd::bench

#endif  // TALLYD_BENCH_LATENCY_H_
