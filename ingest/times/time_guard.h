// TimeGuard: which times of POSTed events a stream takes at one moment (IngestGuards), and what is
// said of others. Immutable.
#ifndef TALLYD_INGEST_TIMES_TIME_GUARD_H_
#define TALLYD_INGEST_TIMES_TIME_GUARD_H_

#include <string>
#include <string_view>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "config/values/value.h"

namespace tallyd {

class TimeGuard {
 public:
  TimeGuard() = default;  // Takes any.
  // `now`: the wall clock's, which may be wrong.
  TimeGuard(const Stream& stream, TimeUs now);

  bool Takes(TimeUs time) const { return earliest_ <= time && time <= latest_; }
  // Why the event's time, as it was sent, is not taken, for people. kUnavailable: it is the clock
  // that is wrong, since it is before min_time, or behind `retention`, the retention clock's time,
  // by which the event is not too far ahead. REQUIRES: !Takes(time).
  Error WhyNot(std::string_view field, const Value& sent, TimeUs time, TimeUs retention) const;

 private:
  TimeUs earliest_ = 0;
  TimeUs latest_ = kMaxTimeUs;
  TimeUs now_ = 0;
  int64_t max_future_us_ = 0;
  TimeUnit unit_ = TimeUnit::kMilliseconds;
  std::string stream_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_TIMES_TIME_GUARD_H_
