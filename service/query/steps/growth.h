// Growth: what a counter grew over the values that were added, whatever pieces they come in. A
// value that is less than the one before it in time began again at 0.
//
// Values come in order of time or against it, in stretches that are put together; of values of one
// time the one added later is the later. What grew between two neighbours is added up at once, so
// a value that belongs between two that were added comes too late: the order is lost then, and
// whoever asks must bring the values in order. First and last are right in any order.
#ifndef TALLYD_SERVICE_QUERY_STEPS_GROWTH_H_
#define TALLYD_SERVICE_QUERY_STEPS_GROWTH_H_

#include <cstdint>

#include "config/values/time.h"
#include "config/values/value.h"

namespace tallyd {

class Growth {
 public:
  // REQUIRES: number.is_number(). False: the order is lost.
  bool Add(TimeUs time, const Value& number);
  // Adds another's, whose values of one time are later than those here. False as above.
  bool Absorb(const Growth& other);
  // Adds what it grew since the last value of what came before it.
  void Follow(const Growth& before);

  bool is_empty() const { return first_.is_null(); }
  // All are null where nothing was added. Integers stay exact while they fit.
  Value Total() const;
  Value PerSecond(int64_t step_us) const;
  Value LastLessFirst() const;

 private:
  void AddStep(const Value& from, const Value& to);

  TimeUs first_time_ = 0;
  TimeUs last_time_ = 0;
  Value first_;
  Value last_;
  __extension__ __int128 integers_ = 0;
  long double floats_ = 0;
  bool has_float_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_STEPS_GROWTH_H_
