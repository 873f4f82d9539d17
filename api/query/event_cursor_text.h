// The cursors of events as text (api/cursor.h).
#ifndef TALLYD_API_QUERY_EVENT_CURSOR_TEXT_H_
#define TALLYD_API_QUERY_EVENT_CURSOR_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "service/query/ask/event_cursor.h"

namespace tallyd {

std::string EncodeCursor(const EventCursor& cursor, uint64_t query_hash);
Result<EventCursor> DecodeCursor(std::string_view text, uint64_t query_hash);

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_EVENT_CURSOR_TEXT_H_
