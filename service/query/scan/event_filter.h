// What of an event is asked for, and whether an event is wanted at all.
//
// An event is wanted when it passes every filter and comparison and has a field that is a reason to
// want it (service/query/ask/candidate.h). Key fields can be judged by the first fragment of a row;
// the rest only on a whole event, which in a table whose key names {field} is spread over rows.
//
// Not thread-safe: one per query. Learns fields as they are met.
#ifndef TALLYD_SERVICE_QUERY_SCAN_EVENT_FILTER_H_
#define TALLYD_SERVICE_QUERY_SCAN_EVENT_FILTER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/unmap/row_reader.h"
#include "service/query/ask/candidate.h"
#include "service/query/ask/event_query.h"

namespace tallyd {

class EventFilter {
 public:
  // All outlive the filter.
  EventFilter(const EventQuery& query, const Table& table, FieldTable* fields);

  // Whether the field comes into the answer: it is asked for, or a key field.
  bool IsAnswered(uint32_t field) { return RoleOf(field).answered; }

  bool AcceptsKey(std::span<const EventField> fields) {
    return Passes(key_filters_, fields) && Passes(key_wheres_, fields);
  }
  bool AcceptsRest(std::span<const EventField> fields);

  // Whether all filters and comparisons are on key fields.
  bool filters_keys_only() const { return rest_filters_.empty() && rest_wheres_.empty(); }

  // The globs of what has to be read; empty: everything.
  std::vector<std::string> ReadGlobs() const;
  // Whether one of them is of labels that the keys may hold.
  bool ReadsLabels() const;

 private:
  struct Role {
    bool known = false;
    bool answered = false;   // It is asked for, or of the key.
    bool is_reason = false;  // It is a reason to want the event.
  };
  struct Filter {
    uint32_t field;
    const std::vector<std::string>* values;
  };
  struct Compared {
    uint32_t field;
    const Where* where;
  };

  const Role& RoleOf(uint32_t field);
  bool Passes(const std::vector<Filter>& filters, std::span<const EventField> fields);
  static bool Passes(const std::vector<Compared>& wheres, std::span<const EventField> fields);
  bool IsOneOf(const Value& value, const std::vector<std::string>& texts);

  const EventQuery& query_;
  const Table& table_;
  FieldTable* fields_;
  const Wanted wanted_;
  std::vector<Filter> key_filters_;
  std::vector<Filter> rest_filters_;
  std::vector<Compared> key_wheres_;
  std::vector<Compared> rest_wheres_;
  std::vector<Role> roles_;  // By field.
  std::string scratch_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_SCAN_EVENT_FILTER_H_
