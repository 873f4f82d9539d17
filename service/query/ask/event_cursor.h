// Where a page of events ended, and what a query needs to go on there: the same table and the same
// absolute times, whatever "-15m" means by now.
#ifndef TALLYD_SERVICE_QUERY_ASK_EVENT_CURSOR_H_
#define TALLYD_SERVICE_QUERY_ASK_EVENT_CURSOR_H_

#include <optional>
#include <string>

#include "config/values/time.h"
#include "storage/table_info.h"

namespace tallyd {

// The place of an event in the order of an answer: by time, then by `tie` (its row key, its entity
// where several rows make an event, its group when downsampled), then by number among equals.
struct EventPosition {
  TimeUs time = 0;
  std::string tie;
  int64_t emitted = 0;  // Events of this time and tie that have been answered.
  // Of a latest row whose columns are events of their own: the column of the last of them, behind
  // which it goes on, whatever was written to the row or removed meanwhile.
  std::optional<Column> column = std::nullopt;
};

struct EventCursor {
  std::string table;
  TimeRange range;
  EventPosition position;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_EVENT_CURSOR_H_
