#include "api/query/event_cursor_text.h"

#include "api/cursor.h"

namespace tallyd {

std::string EncodeCursor(const EventCursor& cursor, uint64_t query_hash) {
  CursorWriter writer(query_hash);
  writer.AddText(cursor.table);
  writer.AddInt(cursor.range.from);
  writer.AddInt(cursor.range.to);
  writer.AddInt(cursor.position.time);
  writer.AddInt(cursor.position.emitted);
  writer.AddText(cursor.position.tie);
  return writer.Finish();
}

Result<EventCursor> DecodeCursor(std::string_view text, uint64_t query_hash) {
  Result<CursorReader> reader = CursorReader::Open(text, query_hash);
  if (!reader) return reader.error();
  EventCursor cursor;
  const bool whole = reader->TakeText(&cursor.table) && reader->TakeInt(&cursor.range.from) &&
                     reader->TakeInt(&cursor.range.to) && reader->TakeInt(&cursor.position.time) &&
                     reader->TakeInt(&cursor.position.emitted) &&
                     reader->TakeText(&cursor.position.tie) && reader->AtEnd();
  const auto is_time = [](TimeUs t) { return t >= 0 && t <= kMaxTimeUs + 1; };
  if (!whole || !is_time(cursor.range.from) || !is_time(cursor.range.to) ||
      !is_time(cursor.position.time) || cursor.position.emitted < 0) {
    return BadCursor();
  }
  return cursor;
}

}  // namespace tallyd
