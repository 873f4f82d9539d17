// EventPage: the events of one page, copied out of the rows that they came from: JSON tells its
// columns before its rows, so a page is known whole before it is written.
#ifndef TALLYD_API_QUERY_ANSWER_EVENT_PAGE_H_
#define TALLYD_API_QUERY_ANSWER_EVENT_PAGE_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "service/query/scan/event_stream.h"

namespace tallyd {

class EventPage {
 public:
  // Only values of such fields are kept.
  explicit EventPage(std::function<bool(uint32_t)> is_answered)
      : is_answered_(std::move(is_answered)) {}

  void Add(const EventView& event);

  size_t size() const { return events_.size(); }
  size_t bytes() const { return bytes_; }
  // By field: whether any event has it.
  const std::vector<bool>& met() const { return met_; }

  // Events with the same fields in the same order share a shape.
  size_t shapes() const { return shapes_.size(); }
  std::span<const uint32_t> FieldsOf(size_t shape) const { return shapes_[shape].kept; }

  // An event's values are those of its shape's fields, null where it has none.
  TimeUs TimeOf(size_t event) const { return events_[event].time; }
  size_t ShapeOf(size_t event) const { return events_[event].shape; }
  const Value* ValuesOf(size_t event) const { return values_.data() + events_[event].first; }

 private:
  struct Event {
    TimeUs time;
    size_t first;
    size_t shape;
  };
  struct Shape {
    std::vector<uint32_t> fields;  // Of the events as they come.
    std::vector<uint32_t> kept;    // Those of them that are answered ...
    std::vector<uint32_t> places;  // ... and where they are.
    bool all_met = false;
  };

  bool HasShape(const EventView& event, const Shape& shape) const;
  size_t FindShape(const EventView& event);
  void Meet(const Value* values, Shape* shape);
  Value Keep(const Value& value);  // The same, whose text is the page's.
  std::string_view Copy(std::string_view text);

  const std::function<bool(uint32_t)> is_answered_;
  std::vector<Event> events_;
  std::vector<Value> values_;
  std::vector<Shape> shapes_;
  boost::unordered_flat_map<std::string, size_t> shape_index_;  // By the fields' bytes.
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
  size_t bytes_ = 0;
  std::vector<bool> met_;
};

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_ANSWER_EVENT_PAGE_H_
