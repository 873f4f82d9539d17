#include "bench/latency.h"

#include <algorithm>
#include <cmath>

namespace tallyd::bench {

void Latency::Add(Clock::duration duration) {
  milliseconds_.push_back(std::chrono::duration<double, std::milli>(duration).count());
}

void Latency::Merge(const Latency& other) {
  milliseconds_.insert(milliseconds_.end(), other.milliseconds_.begin(), other.milliseconds_.end());
}

double Latency::Milliseconds(double quantile) const {
  if (milliseconds_.empty()) return 0;
  std::vector<double> sorted = milliseconds_;
  std::sort(sorted.begin(), sorted.end());
  const double rank = std::ceil(quantile * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace tallyd::bench
