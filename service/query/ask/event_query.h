// EventQuery: what is asked of a stream's events, whoever asks, checked against what the stream is
// known to have.
//
//   Result<EventQuery> query = BeginEventQuery(access, store, "server", now);
//   query->filters = ...;
//   SettleFilters(&*query);      // Behind filters and wheres.
//   query->fields = ...;
//   CheckSteps(*query);          // When the rest is set.
#ifndef TALLYD_SERVICE_QUERY_ASK_EVENT_QUERY_H_
#define TALLYD_SERVICE_QUERY_ASK_EVENT_QUERY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "service/access/schema_view.h"
#include "service/live_schema.h"
#include "service/query/ask/aggregation.h"
#include "service/query/ask/event_cursor.h"
#include "service/query/ask/fill.h"
#include "service/query/ask/stream_fields.h"
#include "service/query/ask/where.h"
#include "service/series/series_filter.h"

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

struct EventQuery {
  Access access;
  const Stream* stream = nullptr;  // In its snapshot.
  std::shared_ptr<const StreamFields> known;

  std::vector<std::string> fields;  // Names and globs, as asked; empty: all.
  std::vector<FieldFilter> filters;
  std::vector<Where> wheres;  // All must hold.
  // What else whoever asks wants of a series' fields, and will look at himself: where an index
  // knows the series of a table, no others of it are read.
  std::vector<SeriesFilter> only_series = {};
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
  bool is_page = false;  // Whoever asks takes no more than `limit`, or kDefaultLimit.
  std::optional<EventCursor> cursor;

  const Schema& schema() const { return access.schema(); }
  // Null: every row of the table.
  const RowClamp* ClampOf(const Table& of) const { return access.ClampOf(of.name); }
  // The fields that decide whether an event is wanted.
  std::vector<std::string> FilteredFields() const;
  // Whether the name is the time itself: it is `ts` in every answer.
  bool IsTime(const Table& asked_table, std::string_view field) const {
    return field == asked_table.time_field || field == stream->time_field;
  }
};

// Of every event of the stream. kNotFound: there is no such stream (the message names near ones).
Result<EventQuery> BeginEventQuery(Access access, const Store& store, std::string_view stream,
                                   TimeUs now);
// Makes filters match by value: each text becomes those under which the value may be stored.
// kInvalid: a filter or comparison is on the time, which is bounded and not compared, or the field
// never had such a value.
Status SettleFilters(EventQuery* query);
// kInvalid: of steps, their aggregations, groups, gaps and the greatest of them it asks for one
// without what that needs, or in an order that they do not come in; or for steps of the time, for
// which they have a column, and of which nothing is computed.
Status CheckSteps(const EventQuery& query);

// The same query in the names under which the table gives fields back, whatever spelling was asked
// for.
EventQuery InTermsOf(const Table& table, EventQuery query);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_EVENT_QUERY_H_
