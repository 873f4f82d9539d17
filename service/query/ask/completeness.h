// What a candidate may lack of a query's answer (candidate.h says when it is whole): sets standing,
// reason and lack. REQUIRES of a plan: it can answer.
#ifndef TALLYD_SERVICE_QUERY_ASK_COMPLETENESS_H_
#define TALLYD_SERVICE_QUERY_ASK_COMPLETENESS_H_

#include <vector>

#include "service/query/ask/candidate.h"

namespace tallyd {

// By itself; `query` is in terms of the table.
void JudgeHistory(const EventQuery& query, const Wanted& wanted, const Store& store,
                  TablePlan* plan);
void JudgeLatest(const EventQuery& query, const Wanted& wanted, TablePlan* plan);

// Beside the others: `could_answer` tells which could, whether `table=` allows them or not.
void JudgeTogether(const EventQuery& query, const std::vector<bool>& could_answer,
                   std::vector<TablePlan>* plans);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_COMPLETENESS_H_
