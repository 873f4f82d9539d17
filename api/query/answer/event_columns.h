// The columns of an answer, `ts` first: then the key's fields (or the groups), then what was asked
// for: fields named one by one in their order, what a glob or nothing selects in byte order.
#ifndef TALLYD_API_QUERY_ANSWER_EVENT_COLUMNS_H_
#define TALLYD_API_QUERY_ANSWER_EVENT_COLUMNS_H_

#include <optional>
#include <string>
#include <vector>

#include "service/query/run/event_run.h"

namespace tallyd {

struct EventColumn {
  std::string label;
  uint32_t field;  // In the run's fields.
};

// Without `ts`. `met` tells by field which occur in the answer.
std::vector<EventColumn> ColumnsOfPage(EventRun* run, const std::vector<bool>& met);
// Before anything is read: every field that the table is known to hold. Nothing, where that is more
// than kMostUnmetColumns: most of them may be names that no event has any more.
std::optional<std::vector<EventColumn>> ColumnsOfTable(EventRun* run);

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_ANSWER_EVENT_COLUMNS_H_
