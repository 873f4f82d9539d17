// HeldEvent: the fields of an event that outlives the row it came from: text is copied.
#ifndef TALLYD_SERVICE_QUERY_RUN_HELD_EVENT_H_
#define TALLYD_SERVICE_QUERY_RUN_HELD_EVENT_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ingest/unmap/row_reader.h"

namespace tallyd {

class HeldEvent {
 public:
  HeldEvent() = default;
  explicit HeldEvent(std::span<const EventField> fields);

  std::span<const EventField> fields() const { return fields_; }
  size_t bytes() const { return sizeof(*this) + fields_.size() * sizeof(EventField) + text_bytes_; }

 private:
  std::vector<EventField> fields_;
  std::unique_ptr<char[]> text_;
  size_t text_bytes_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_RUN_HELD_EVENT_H_
