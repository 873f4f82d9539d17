// RetentionClock: the time by which the disk forgets. A wall clock that jumps ahead, if only for a
// moment, must cost no data: reads that hide too much show it again, a removed file is gone.
//
// It follows the wall clock, never goes back, and stands still while the wall clock is behind it.
// It is never faster than the monotonic clock: what the wall clock is ahead of it is believed when
// it has held for an hour (wall less monotonic clock within a minute), or when an operator says so.
// At a start a wall clock that is up to a day ahead of what was persisted is believed at once: the
// machine was off. RetentionKeeper, a thread of its own, persists it. All functions but Start are
// thread-safe.
#ifndef TALLYD_STORAGE_RETENTION_CLOCK_H_
#define TALLYD_STORAGE_RETENTION_CLOCK_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "config/values/repeating_thread.h"
#include "config/values/result.h"
#include "config/values/time.h"

namespace tallyd {

class RetentionClock {
 public:
  static constexpr int64_t kBelievedAtStartUs = kUsPerDay;
  static constexpr int64_t kHoldUs = 3600 * kUsPerSecond;
  static constexpr int64_t kToleranceUs = 60 * kUsPerSecond;  // What is less is no jump.

  struct State {
    TimeUs time = 0;
    int64_t lag_us = 0;          // How far the wall clock is ahead; negative: behind.
    bool believes_wall = true;   // False after a jump ahead of the wall clock.
    int64_t believes_in_us = 0;  // Then: when it will be believed if it holds.
  };

  // `clock` outlives this. It is the wall clock's until Start.
  explicit RetentionClock(const Clock& clock);

  // With what was persisted last; nothing at the first start, which takes the wall clock.
  void Start(std::optional<TimeUs> persisted);
  // What has expired by this time may go from the disk: the retention clock's, or the wall clock's
  // where that is behind.
  TimeUs Now();
  // Takes the wall clock as it is, ahead or behind.
  void Trust();
  State GetState();

 private:
  // The wall clock is ahead of what it can have reached.
  struct Jump {
    int64_t wall_less_steady = 0;
    int64_t since = 0;  // Of the monotonic clock.
  };

  void Look();
  void Doubt(TimeUs wall, int64_t steady);

  const Clock& clock_;
  std::mutex mutex_;
  TimeUs time_ = 0;  // Guarded by mutex_, like the rest.
  TimeUs wall_ = 0;
  int64_t steady_ = 0;
  std::optional<Jump> jump_;
};

// RetentionKeeper: looks at the clock once a minute, so that a jump that does not hold is noticed,
// and persists it: every ten minutes in which it has advanced, when it is told to trust the wall
// clock, and at Stop. A thread of its own.
class RetentionKeeper {
 public:
  static constexpr int64_t kPersistEveryUs = 600 * kUsPerSecond;
  using Persist = std::function<Status(TimeUs)>;

  // `clock` was started with `persisted` and outlives the keeper. Persists at once what is due.
  RetentionKeeper(RetentionClock* clock, std::optional<TimeUs> persisted, Persist persist);
  ~RetentionKeeper() { Stop(); }
  RetentionKeeper(const RetentionKeeper&) = delete;
  RetentionKeeper& operator=(const RetentionKeeper&) = delete;

  // As the thread does it once a minute.
  void Look();
  // Durable on return; after an error the clock is trusted until the next start only.
  Status Trust();
  void Stop();  // Idempotent.

 private:
  Status PersistIfAdvanced(int64_t by_us);

  RetentionClock* const clock_;
  const Persist persist_;
  std::mutex persist_mutex_;
  std::optional<TimeUs> persisted_;  // Guarded by persist_mutex_.

  RepeatingThread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_RETENTION_CLOCK_H_
