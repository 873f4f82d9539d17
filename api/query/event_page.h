// EventPage: the events of one page, copied out of the rows that they came from: JSON tells its
// columns before its rows, so a page is known whole before it is written.
#ifndef TALLYD_API_QUERY_EVENT_PAGE_H_
#define TALLYD_API_QUERY_EVENT_PAGE_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "api/query/event_stream.h"

namespace tallyd {

class EventPage {
 public:
  // Begin, Add per field, and so on. Text is copied.
  void BeginEvent(TimeUs time);
  void Add(const EventField& field);

  size_t size() const { return events_.size(); }
  size_t bytes() const { return bytes_; }
  EventView event(size_t i) const;
  // By field: whether any event has it.
  const std::vector<bool>& met() const { return met_; }

 private:
  struct Stored {
    TimeUs time;
    size_t first;
  };
  std::string_view Copy(std::string_view text);

  std::vector<Stored> events_;
  std::vector<EventField> fields_;
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  size_t bytes_ = 0;
  std::vector<bool> met_;
};

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_EVENT_PAGE_H_
