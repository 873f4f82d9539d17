// The planner: which table answers a query, and by which ranges of its keys.
//
// 1. Candidates are the stream's history tables that hold every field asked for or filtered by.
// 2. A candidate is complete when it keeps every event of the range: no family's GC may have
//    removed some, `when` lets none out, its time is the stream's. Incomplete ones are taken only
//    where no candidate is complete (or by `table=`), and the plan says so.
// 3. A candidate that would read its whole table is refused, unless `scan=1`.
// 4. Of what is left the fewest estimated rows win; ties go to the file's order.
#ifndef TALLYD_API_QUERY_PLANNER_H_
#define TALLYD_API_QUERY_PLANNER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/query/event_query.h"
#include "config/key_ranges.h"
#include "storage/store.h"

namespace tallyd {

// One candidate. `why_not` is empty for the chosen one and for those that merely cost more.
struct TablePlan {
  const Table* table = nullptr;  // Of the query's snapshot.
  TablePtr stored;
  KnownFields known;
  RangePlan ranges;
  bool planned = false;  // `ranges` means something.
  bool bounded = false;  // Else it reads the whole table: a scan.
  bool complete = true;
  std::string note;  // Why it is not complete.
  std::optional<uint64_t> estimated_rows;
  std::string why_not;

  bool is_scan() const { return !bounded; }
};

struct QueryPlan {
  std::vector<TablePlan> candidates;  // In the file's order.
  std::optional<size_t> chosen;
  std::optional<Error> refusal;  // Why the query is not answered, also when a scan was chosen.
};

enum class Estimates : uint8_t { kWhereNeeded, kAll };

// Errors: the pinned table is unknown, of another stream, or a latest table; the store fails.
Result<QueryPlan> PlanEvents(const EventQuery& query, Store& store, Estimates estimates);

// The plan for the stream's (first, or named) latest table: always a range. 404 where there is
// none.
Result<TablePlan> PlanLatest(const EventQuery& query, const Store& store);

// The names that the query's fields stand for: globs over the known fields, in the order asked.
std::vector<std::string> AskedFields(const EventQuery& query);
// What the table's row key lets the planner use of the query.
KnownFields KnownOf(const EventQuery& query, const Table& table);

// The members of a plan, without braces: "table":...,"kind":...,"ranges":...
void AppendPlanMembers(const TablePlan& plan, std::string* out);
// The answer of GET .../plan.
std::string PlanJson(const QueryPlan& plan);

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_PLANNER_H_
