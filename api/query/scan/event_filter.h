// What of an event is asked for, and whether an event is wanted at all.
//
// An event is wanted when it passes every filter and, where measured fields are asked for, has at
// least one of them. Key fields can be judged by the first fragment of a row; the rest only on a
// whole event, which in a table whose key names {field} is spread over rows.
//
// Not thread-safe: one per query. Learns fields as they are met.
#ifndef TALLYD_API_QUERY_SCAN_EVENT_FILTER_H_
#define TALLYD_API_QUERY_SCAN_EVENT_FILTER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/query/ask/event_query.h"
#include "ingest/unmap/row_reader.h"

namespace tallyd {

class EventFilter {
 public:
  // All outlive the filter.
  EventFilter(const EventQuery& query, const Table& table, FieldTable* fields);

  // Whether the field comes into the answer: it is asked for, or a key field.
  bool IsAnswered(uint32_t field) { return RoleOf(field) != Role::kOther; }

  bool AcceptsKey(std::span<const EventField> fields) { return Passes(key_filters_, fields); }
  bool AcceptsRest(std::span<const EventField> fields);

  // Whether all filters are on key fields.
  bool filters_keys_only() const { return rest_filters_.empty(); }

  // The globs of what has to be read; empty: everything.
  std::vector<std::string> ReadGlobs() const;

 private:
  enum class Role : uint8_t { kUnknown, kKey, kAsked, kOther };
  struct Filter {
    uint32_t field;
    const std::vector<std::string>* values;
  };

  Role RoleOf(uint32_t field);
  bool Passes(const std::vector<Filter>& filters, std::span<const EventField> fields);
  bool IsOneOf(const Value& value, const std::vector<std::string>& texts);

  const EventQuery& query_;
  const Table& table_;
  FieldTable* fields_;
  bool needs_measured_ = false;  // Measured fields are asked for by name or glob.
  std::vector<Filter> key_filters_;
  std::vector<Filter> rest_filters_;
  std::vector<Role> roles_;  // By field.
  std::string scratch_;
};

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_SCAN_EVENT_FILTER_H_
