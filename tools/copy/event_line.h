// EventLine: an event as a daemon answers it in NDJSON, read as far as a copy must understand it:
// its time, what tells it from another, and where its fields stand. Values are not parsed, so that
// they arrive in the type and the spelling in which they left.
#ifndef TALLYD_TOOLS_COPY_EVENT_LINE_H_
#define TALLYD_TOOLS_COPY_EVENT_LINE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "config/values/time.h"

namespace tallyd {

struct EventLine {
  TimeUs time = 0;
  // Of its time and its fields, in whatever order these come, and whatever the time is called.
  uint64_t digest = 0;
  // Behind the time: `,"hostname":"a"}`. Views the line.
  std::string_view fields;
  // The name of a field with bytes, which no event can bring in: {"base64": ...} would become a
  // field of its own. With its quotes; empty: there is none. Views the line.
  std::string_view bytes_field;
};

// `line` begins with the event's time, in the unit of its stream, as those of a daemon do.
Result<EventLine> ReadEventLine(std::string_view line, TimeUnit unit);
// The same event with its time under another name, in another unit, and a line end.
void AppendEventLine(const EventLine& line, std::string_view quoted_time_field, TimeUnit unit,
                     std::string* out);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_EVENT_LINE_H_
