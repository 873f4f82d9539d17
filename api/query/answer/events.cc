#include <utility>

#include "api/handlers.h"
#include "api/query/answer/event_writer.h"
#include "api/query/answer/plan_json.h"
#include "api/query/read_event_query.h"
#include "service/query/ask/planner.h"
#include "service/query/run/event_run.h"

namespace tallyd {

Response GetEvents(const Request& request, ApiContext& context) {
  Result<EventRequest> asked = ReadEventRequest(request, context, QueryKind::kEvents);
  if (!asked) return ProblemOf(asked.error());
  const EventAnswer answer = {asked->format, asked->hash};
  const ReadParts parts = context.read_parts();
  while (true) {
    Result<QueryPlan> plan = PlanEvents(asked->query, context.store, Estimates::kWhereNeeded);
    if (!plan) return ProblemOf(plan.error());
    if (plan->refusal) return ProblemOf(*plan->refusal);
    TablePlan chosen = std::move(plan->candidates[*plan->chosen]);
    const bool is_at_risk = chosen.at_risk && chosen.lack.merging != Merging::kMet;
    if (!is_at_risk) {
      auto run = std::make_unique<EventRun>(std::move(asked->query), std::move(chosen), parts,
                                            request.memory);
      return AnswerEvents(request, answer, std::move(run));
    }
    // It may meet events that fell on one cell: then that is known of the table, and it is planned
    // anew. So each table is tried once.
    bool replan = false;
    auto run = std::make_unique<EventRun>(asked->query, std::move(chosen), parts, request.memory);
    Response response = AnswerEvents(request, answer, std::move(run), &replan);
    if (!replan) return response;
  }
}

Response GetPlan(const Request& request, ApiContext& context) {
  const Result<EventRequest> asked = ReadEventRequest(request, context, QueryKind::kEvents);
  if (!asked) return ProblemOf(asked.error());
  const Result<QueryPlan> plan = PlanEvents(asked->query, context.store, Estimates::kAll);
  if (!plan) return ProblemOf(plan.error());
  return Response::Of(200, JsonOfPlans(*plan));
}

Response GetLatest(const Request& request, ApiContext& context) {
  Result<EventRequest> asked = ReadEventRequest(request, context, QueryKind::kLatest);
  if (!asked) return ProblemOf(asked.error());
  Result<TablePlan> plan = PlanLatest(asked->query, context.store);
  if (!plan) return ProblemOf(plan.error());
  auto run = std::make_unique<EventRun>(std::move(asked->query), std::move(*plan),
                                        context.read_parts(), request.memory);
  return AnswerEvents(request, {asked->format, asked->hash}, std::move(run));
}

}  // namespace tallyd
