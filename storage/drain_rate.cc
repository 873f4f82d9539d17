#include "storage/drain_rate.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tallyd {

namespace {

constexpr double kWindowSeconds = 1;

double Seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void DrainRate::Note(uint64_t bytes, Time now) {
  if (!std::exchange(began_, true)) begin_ = now;
  bytes_ += bytes;
  if (Seconds(now - begin_) < kWindowSeconds) return;
  rate_ = BytesPerSecond(now);
  has_rate_ = true;
  begin_ = now;
  bytes_ = 0;
}

double DrainRate::BytesPerSecond(Time now) const {
  const double seconds = Seconds(now - begin_);
  if (seconds < kWindowSeconds) return has_rate_ ? rate_ : static_cast<double>(bytes_);
  const double of_window = static_cast<double>(bytes_) / seconds;
  // A window that lasts says more than the one before it: where nothing goes the rate falls on.
  return has_rate_ ? (rate_ + seconds * of_window) / (1 + seconds) : of_window;
}

unsigned DrainRate::SecondsFor(uint64_t bytes, Time now) const {
  if (!began_) return 1;
  const double rate = BytesPerSecond(now);
  const double seconds = rate > 0 ? std::ceil(static_cast<double>(bytes) / rate) : kMostSeconds;
  return static_cast<unsigned>(std::clamp(seconds, 1.0, double{kMostSeconds}));
}

}  // namespace tallyd
