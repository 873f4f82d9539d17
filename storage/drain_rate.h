// DrainRate: how fast what waits goes away, as it was observed, and so when it will be gone: what
// Retry-After tells whoever finds no room.
//
//   rate.Note(committed_bytes, now);
//   Error("...").RetryAfter(rate.SecondsFor(queued_bytes, now));
//
// Of one owner, who keeps others out while it is used.
#ifndef TALLYD_STORAGE_DRAIN_RATE_H_
#define TALLYD_STORAGE_DRAIN_RATE_H_

#include <chrono>
#include <cstdint>

namespace tallyd {

class DrainRate {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Longer than this nobody is sent away: by then it may have become another world.
  static constexpr unsigned kMostSeconds = 60;

  // So many bytes have gone.
  void Note(uint64_t bytes, Time now);
  // Whole seconds until `bytes` have gone, if they go as those before: 1 to kMostSeconds. Where
  // nothing goes any more the answer grows as time passes; where nothing ever went it is 1.
  unsigned SecondsFor(uint64_t bytes, Time now) const;

 private:
  // Of the window that runs, and of those before it, where the last counts as much as all others.
  double BytesPerSecond(Time now) const;

  bool began_ = false;
  bool has_rate_ = false;
  Time begin_;
  uint64_t bytes_ = 0;
  double rate_ = 0;  // Of the windows before.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_DRAIN_RATE_H_
