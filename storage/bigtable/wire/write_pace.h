// WritePace: how many rows a second bulk writes send, once the service asks for less. It answers
// bulk writes with a factor now and then: from what was sent lately, or from the pace that is kept
// already, the next follows. What nobody asked for in a minute is kept no longer.
//
//   Wait(pace.Reserve(rows, now));   // Before they are sent.
//   pace.Hear(factor, period, now);  // An answer asked for it, and asks nothing more for so long.
//
// Thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_WIRE_WRITE_PACE_H_
#define TALLYD_STORAGE_BIGTABLE_WIRE_WRITE_PACE_H_

#include <chrono>
#include <cstddef>
#include <mutex>

namespace tallyd {

class WritePace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr double kLeastRows = 1000;  // A second: it is never asked for less than that.
  static constexpr double kLeastFactor = 0.7;
  static constexpr double kMostFactor = 1.3;
  static constexpr std::chrono::seconds kForgottenAfter{60};

  // When so many rows may be sent; they count as sent then.
  Time Reserve(size_t rows, Time now);
  void Hear(double factor, std::chrono::microseconds period, Time now);
  double rows_per_second() const;  // 0: as many as come.

 private:
  double Lately(Time now) const;  // Rows a second. REQUIRES: mutex_.

  mutable std::mutex mutex_;
  // What follows is guarded by mutex_.
  double pace_ = 0;
  Time free_;         // When what was reserved is sent.
  Time heard_;        // The last factor came then,
  Time deaf_until_;   // and no other counts before that.
  Time counts_from_;  // The rows of this second and of the one before.
  size_t rows_ = 0;
  size_t rows_before_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WIRE_WRITE_PACE_H_
