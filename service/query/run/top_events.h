// TopEvents: of events those with the n greatest numbers in one field, in the order of an answer.
// Of equal numbers the earlier in ascending order is kept; what has no number there is not.
//
//   TopEvents top({.count = 10, .field = id});
//   top.TakeAll(&events);  // In any order; each knows its place.
//   then it is an EventStream.
#ifndef TALLYD_SERVICE_QUERY_RUN_TOP_EVENTS_H_
#define TALLYD_SERVICE_QUERY_RUN_TOP_EVENTS_H_

#include <optional>
#include <vector>

#include "service/limits/query_memory.h"
#include "service/query/run/held_event.h"
#include "service/query/scan/event_stream.h"

namespace tallyd {

struct TopSpec {
  size_t count = 0;  // Not 0.
  uint32_t field = 0;
  bool descending = false;
  std::optional<EventPosition> start;  // Events up to and with it are not answered, but count.
};

class TopEvents final : public EventStream {
 public:
  explicit TopEvents(TopSpec spec, ReadMemoryPtr memory = nullptr)
      : spec_(std::move(spec)), charge_(std::move(memory)) {}

  // All of them. Once, before anything below. kUnprocessable when they are too large to hold.
  Status TakeAll(EventStream* events);

  Result<bool> Next() override;
  EventPosition Position() const override { return kept_[next_ - 1].position; }

 private:
  struct Kept {
    Value number;
    TimeUs time = 0;
    EventPosition position;
    HeldEvent event;
  };

  // Whether the first goes before the second where there is no room for both.
  bool Outranks(const Kept& a, const Kept& b) const;
  // In the order of the answer.
  bool Precedes(const EventPosition& a, const EventPosition& b) const;
  void Take(const Value& number, const EventStream& events);

  TopSpec spec_;
  MemoryCharge charge_;
  std::vector<Kept> kept_;  // A heap, the first to go on top; in the end in order.
  size_t held_bytes_ = 0;
  size_t next_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_RUN_TOP_EVENTS_H_
