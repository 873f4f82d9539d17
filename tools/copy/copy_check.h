// CheckStream: whether the target gives back what was read from the source.
#ifndef TALLYD_TOOLS_COPY_COPY_CHECK_H_
#define TALLYD_TOOLS_COPY_COPY_CHECK_H_

#include <string>

#include "tools/copy/copy_plan.h"
#include "tools/copy/event_sums.h"

namespace tallyd {

struct CopyCheck {
  bool is_equal = false;
  std::string why;       // It is not equal, or cannot be told.
  TimeUs from = 0;       // What the target has begun to forget before this is not compared.
  EventSums::Sum there;  // What the target gives back from there on.
};

// `time`: what was read, to behind the last event. Errors are those of asking the target.
Result<CopyCheck> CheckStream(const PatientClient& to, const StreamPlan& plan,
                              const EventSums& sums, const TimeRange& time);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_COPY_CHECK_H_
