#include "api/query/event_cursor_text.h"

#include <limits>

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
  if (const std::optional<Column>& column = cursor.position.column) {
    writer.AddInt(column->family);
    writer.AddText(column->qualifier);
  }
  return writer.Finish();
}

Result<EventCursor> DecodeCursor(std::string_view text, uint64_t query_hash) {
  Result<CursorReader> reader = CursorReader::Open(text, query_hash);
  if (!reader) return reader.error();
  EventCursor cursor;
  const auto take_column = [&] {
    if (reader->AtEnd()) return true;
    Column& column = cursor.position.column.emplace();
    int64_t family = 0;
    const bool taken = reader->TakeInt(&family) && reader->TakeText(&column.qualifier) &&
                       family >= 0 && family <= std::numeric_limits<FamilyId>::max();
    column.family = static_cast<FamilyId>(family);
    return taken;
  };
  const bool whole = reader->TakeText(&cursor.table) && reader->TakeInt(&cursor.range.from) &&
                     reader->TakeInt(&cursor.range.to) && reader->TakeInt(&cursor.position.time) &&
                     reader->TakeInt(&cursor.position.emitted) &&
                     reader->TakeText(&cursor.position.tie) && take_column() &&
                     reader->AtEnd();
  const auto is_time = [](TimeUs t) { return t >= 0 && t <= kMaxTimeUs + 1; };
  if (!whole || !is_time(cursor.range.from) || !is_time(cursor.range.to) ||
      !is_time(cursor.position.time) || cursor.position.emitted < 0) {
    return BadCursor();
  }
  return cursor;
}

}  // namespace tallyd
