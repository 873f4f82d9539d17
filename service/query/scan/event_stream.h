// EventStream: the rows of an answer, pulled one by one, in order: events as they are (EventScan),
// or steps of them (Downsampler).
#ifndef TALLYD_SERVICE_QUERY_SCAN_EVENT_STREAM_H_
#define TALLYD_SERVICE_QUERY_SCAN_EVENT_STREAM_H_

#include <memory>
#include <span>

#include "service/query/ask/event_cursor.h"
#include "service/query/scan/event_groups.h"

namespace tallyd {

struct EventView {
  TimeUs time = 0;
  std::span<const EventField> fields;
  // Of each of them, where they are cells of many times, as in a row of a latest table; empty:
  // `time` is.
  std::span<const TimeUs> field_times = {};
};

class EventStream {
 public:
  virtual ~EventStream() = default;
  // To the next event; false at the end.
  virtual Result<bool> Next() = 0;
  // Valid until Next.
  const EventView& event() const { return event_; }
  // Where to go on behind the event that came last, also when Next has failed since then.
  // REQUIRES: Next has returned true.
  virtual EventPosition Position() const = 0;

 protected:
  EventView event_;
};

// The events of groups, one after the other, behind `start`; what only whole events can tell is
// filtered here.
class EventScan final : public EventStream {
 public:
  // `filter`: null where parts were whole events and are filtered already.
  EventScan(std::unique_ptr<GroupSource> groups, EventFilter* filter, bool descending,
            const std::optional<EventPosition>& start);
  Result<bool> Next() override;
  EventPosition Position() const override;

 private:
  Result<bool> NextGroup();
  size_t TakenBefore(const EventPosition& start) const;
  EventPosition PositionInGroup() const;

  std::unique_ptr<GroupSource> groups_;
  EventFilter* filter_;
  bool descending_;
  std::optional<EventPosition> start_;
  bool had_group_ = false;
  bool in_group_ = false;
  size_t taken_ = 0;    // Events of the group.
  EventPosition last_;  // Behind the group before, once there was one.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_SCAN_EVENT_STREAM_H_
