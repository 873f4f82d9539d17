// The planner: which table answers a query, and by which ranges of its keys.
//
// 1. Candidates are judged one by one (service/query/ask/candidate.h): whole, partial, or unfit.
// 2. Whole ones go before partial ones, or `table=` pins one. Where all are partial, the fullest
//    answers and the plan says so: it goes by the stream's time, then lacks the fewest of the
//    fields asked for, then keeps the fewest spellings of one name apart, then holds everything
//    from the earliest time on, then has the most fields in their own type; of equals, its rules
//    have applied for the longest (Lack).
// 3. A candidate that would read its whole table is refused, unless `scan=1`.
// 4. Of what is left the least estimated work wins (TablePlan::cost); ties go to the file's order.
//    Estimates are of everybody's rows: for whoever has a scope nothing is estimated, and the table
//    wins of whose key the question bounds the most placeholders, by the fewest ranges.
#ifndef TALLYD_SERVICE_QUERY_ASK_PLANNER_H_
#define TALLYD_SERVICE_QUERY_ASK_PLANNER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/query/ask/candidate.h"
#include "service/query/ask/event_query.h"
#include "storage/store.h"

namespace tallyd {

struct QueryPlan {
  std::vector<TablePlan> candidates;  // In the file's order.
  std::optional<size_t> chosen;
  std::optional<Error> refusal;  // Why the query is not answered, also when a scan was chosen.
};

enum class Estimates : uint8_t { kWhereNeeded, kAll };

// Errors: the pinned table is unknown, of another stream, or keeps no events (a latest or aggregate
// table); the store fails.
Result<QueryPlan> PlanEvents(const EventQuery& query, Store& store, Estimates estimates);

// The plan for the stream's (first, or named) latest table: always a range. 404 where there is
// none.
Result<TablePlan> PlanLatest(const EventQuery& query, Store& store);

// Why another candidate was chosen before this one; empty for the chosen one.
std::string WhyNot(const QueryPlan& plan, size_t index);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_PLANNER_H_
