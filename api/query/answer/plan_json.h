// Plans as JSON: what the answer to a query says of its own, and GET .../plan of all candidates.
#ifndef TALLYD_API_QUERY_ANSWER_PLAN_JSON_H_
#define TALLYD_API_QUERY_ANSWER_PLAN_JSON_H_

#include "ingest/text/json.h"
#include "service/query/ask/planner.h"

namespace tallyd {

// {"table": ..., "kind": ..., "ranges": ...}, and where the answer may lack something "complete":
// false and a "note" that tells what.
Json JsonOfPlan(const TablePlan& plan);

// The chosen plan, or why the query is refused, and each candidate with what it would cost.
Json JsonOfPlans(const QueryPlan& plan);

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_ANSWER_PLAN_JSON_H_
