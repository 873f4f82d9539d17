#include "storage/bigtable/wire/write_pace.h"

#include <algorithm>

namespace tallyd {
namespace {

constexpr std::chrono::seconds kCountedTime(1);

}  // namespace

WritePace::Time WritePace::Reserve(size_t rows, Time now) {
  const std::lock_guard lock(mutex_);
  if (now - counts_from_ >= kCountedTime) {
    rows_before_ = now - counts_from_ < 2 * kCountedTime ? rows_ : 0;
    rows_ = 0;
    counts_from_ = now;
  }
  rows_ += rows;
  if (pace_ > 0 && now - heard_ >= kForgottenAfter) pace_ = 0;
  if (pace_ == 0) return now;
  const Time at = std::max(now, free_);
  const std::chrono::duration<double> takes(static_cast<double>(rows) / pace_);
  free_ = at + std::chrono::duration_cast<Time::duration>(takes);
  return at;
}

double WritePace::Lately(Time now) const {
  using Seconds = std::chrono::duration<double>;
  const Seconds whole = kCountedTime;
  const Seconds passed = std::clamp<Seconds>(now - counts_from_, whole / 10, whole);
  return std::max(static_cast<double>(rows_before_), static_cast<double>(rows_) / passed.count());
}

void WritePace::Hear(double factor, std::chrono::microseconds period, Time now) {
  const std::lock_guard lock(mutex_);
  if (now < deaf_until_) return;
  const double times = std::clamp(factor, kLeastFactor, kMostFactor);
  const double lately = Lately(now);
  if (pace_ == 0 && times >= 1) return;
  pace_ = std::max(kLeastRows, times * (pace_ > 0 ? pace_ : lately));
  // A pace that leaves room beside what comes bounds nothing.
  if (times > 1 && pace_ > 2 * lately && pace_ > 2 * kLeastRows) pace_ = 0;
  heard_ = now;
  deaf_until_ = now + std::clamp<std::chrono::microseconds>(period, std::chrono::milliseconds(100),
                                                            kForgottenAfter);
}

double WritePace::rows_per_second() const {
  const std::lock_guard lock(mutex_);
  return pace_;
}

}  // namespace tallyd
