// Events as lines of text: NDJSON objects or CSV records.
#ifndef TALLYD_API_QUERY_EVENT_LINES_H_
#define TALLYD_API_QUERY_EVENT_LINES_H_

#include <string>
#include <vector>

#include "api/query/event_columns.h"
#include "api/query/event_run.h"

namespace tallyd {

class EventLines {
 public:
  // For NDJSON or CSV, as the run's query says. `run` is started and outlives this.
  explicit EventLines(EventRun* run);

  void AppendHeader(std::string* out) const;  // CSV's; nothing for NDJSON.
  void Append(const EventView& event, std::string* out);

 private:
  void AppendObject(const EventView& event, std::string* out);
  void AppendRecord(const EventView& event, std::string* out);
  const std::string& MemberOf(uint32_t field);

  EventRun* run_;
  bool csv_;
  std::string time_member_;           // "\"ts\":", in the stream's spelling.
  std::vector<std::string> members_;  // By field: ",\"name\":" or empty while unknown.
  std::vector<EventColumn> columns_;  // Of CSV.
  std::vector<int> column_of_;        // By field; -1: none.
  std::vector<const Value*> record_;
  std::string scratch_;
};

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_EVENT_LINES_H_
