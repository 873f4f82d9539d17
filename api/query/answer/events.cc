#include <utility>

#include "api/handlers.h"
#include "api/query/answer/event_run.h"
#include "api/query/answer/event_writer.h"
#include "api/query/answer/plan_json.h"
#include "api/query/ask/event_query.h"
#include "api/query/ask/planner.h"

namespace tallyd {

Response GetEvents(const Request& request, ApiContext& context) {
  Result<EventQuery> query = ParseEventQuery(request, context, QueryKind::kEvents);
  if (!query) return ProblemOf(query.error());
  while (true) {
    Result<QueryPlan> plan = PlanEvents(*query, context.store, Estimates::kWhereNeeded);
    if (!plan) return ProblemOf(plan.error());
    if (plan->refusal) return ProblemOf(*plan->refusal);
    TablePlan chosen = std::move(plan->candidates[*plan->chosen]);
    const bool is_at_risk = chosen.at_risk && chosen.lack.merging != Merging::kMet;
    if (!is_at_risk) {
      return AnswerEvents(request, std::make_unique<EventRun>(std::move(*query), std::move(chosen),
                                                              context, request.memory));
    }
    // It may meet events that fell on one cell: then that is known of the table, and it is planned
    // anew. So each table is tried once.
    bool replan = false;
    auto run = std::make_unique<EventRun>(*query, std::move(chosen), context, request.memory);
    Response response = AnswerEvents(request, std::move(run), &replan);
    if (!replan) return response;
  }
}

Response GetPlan(const Request& request, ApiContext& context) {
  const Result<EventQuery> query = ParseEventQuery(request, context, QueryKind::kEvents);
  if (!query) return ProblemOf(query.error());
  const Result<QueryPlan> plan = PlanEvents(*query, context.store, Estimates::kAll);
  if (!plan) return ProblemOf(plan.error());
  return Response::Of(200, JsonOfPlans(*plan));
}

Response GetLatest(const Request& request, ApiContext& context) {
  Result<EventQuery> query = ParseEventQuery(request, context, QueryKind::kLatest);
  if (!query) return ProblemOf(query.error());
  Result<TablePlan> plan = PlanLatest(*query, context.store);
  if (!plan) return ProblemOf(plan.error());
  return AnswerEvents(request, std::make_unique<EventRun>(std::move(*query), std::move(*plan),
                                                          context, request.memory));
}

}  // namespace tallyd
