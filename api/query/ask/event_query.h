// EventQuery: what a request asks of a stream's events, read from its parameters and checked
// against what the stream is known to have. Parameters that are not reserved are filters on the
// field of that name; "field.NAME" names any field.
#ifndef TALLYD_API_QUERY_ASK_EVENT_QUERY_H_
#define TALLYD_API_QUERY_ASK_EVENT_QUERY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer.h"
#include "api/context.h"
#include "api/query/ask/aggregation.h"
#include "api/query/ask/event_cursor.h"
#include "api/query/ask/fill.h"
#include "api/query/ask/stream_fields.h"
#include "api/query/ask/where.h"
#include "api/request.h"
#include "config/values/time.h"

namespace tallyd {

// Of time, ties in order of keys, or the reverse; or that of keys, in which a table is read the
// fastest.
enum class Order : uint8_t { kAscending, kDescending, kKey };

// The text of the field's value is one of these. A number matches by value: all of its texts are
// here that the field's types allow (filter_values.h).
struct FieldFilter {
  std::string field;
  std::vector<std::string> values;
};

// What the route is for: it decides which of the reserved parameters it takes.
enum class QueryKind : uint8_t { kEvents, kLatest, kRemoval };

struct EventQuery {
  std::shared_ptr<const SchemaSnapshot> snapshot;
  const Stream* stream = nullptr;  // In the snapshot.
  std::shared_ptr<const StreamFields> known;
  QueryKind kind = QueryKind::kEvents;

  std::vector<std::string> fields;  // Names and globs, as asked; empty: all.
  std::vector<FieldFilter> filters;
  std::vector<Where> wheres;  // All must hold.
  TimeRange time;
  TimeUs now = 0;
  std::string table;  // Empty: the planner chooses.
  bool scan = false;

  int64_t step_us = 0;  // 0: events as they are.
  std::vector<Aggregation> aggregations;
  std::vector<std::string> by;
  Fill fill = Fill::kNone;
  bool fills_range = false;  // From end to end: `from` and `to` are given.
  size_t top = 0;            // 0: all events, or groups.

  Order order = Order::kAscending;
  std::optional<uint64_t> limit;
  AnswerFormat format = AnswerFormat::kJson;
  uint64_t hash = 0;
  std::optional<EventCursor> cursor;

  const Schema& schema() const { return *snapshot->schema; }
  // The fields that decide whether an event is wanted.
  std::vector<std::string> FilteredFields() const;
  // Whether the name is the time itself: it is `ts` in every answer.
  bool IsTime(const Table& asked_table, std::string_view field) const {
    return field == asked_table.time_field || field == stream->time_field;
  }
};

// kNotFound: the stream (the message names near ones). kInvalid: anything else.
Result<EventQuery> ParseEventQuery(const Request& request, ApiContext& context, QueryKind kind);

// The same query in the names under which the table gives fields back, whatever spelling was asked
// for.
EventQuery InTermsOf(const Table& table, EventQuery query);

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_ASK_EVENT_QUERY_H_
