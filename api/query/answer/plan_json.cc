#include "api/query/answer/plan_json.h"

namespace tallyd {
namespace {

Json JsonOfCandidate(const QueryPlan& plan, size_t index) {
  const TablePlan& candidate = plan.candidates[index];
  Json json = {{"table", candidate.table->name}};
  if (candidate.standing != Standing::kUnfit) json = JsonOfPlan(candidate);
  if (candidate.estimate) {
    json["estimated_rows"] = candidate.estimate->rows;
    json["estimated_bytes"] = candidate.estimate->bytes;
    json["cost"] = candidate.cost();
  }
  json["chosen"] = plan.chosen == index;
  if (candidate.at_risk) json["at_risk"] = true;
  if (const std::string why_not = WhyNot(plan, index); !why_not.empty()) json["why_not"] = why_not;
  return json;
}

}  // namespace

Json JsonOfPlan(const TablePlan& plan) {
  Json json = {{"table", plan.table->name},
               {"kind", plan.is_scan() ? "scan" : "range"},
               {"ranges", plan.is_scan() ? 1 : plan.ranges.ranges.size()}};
  if (plan.standing == Standing::kPartial) {
    json["complete"] = false;
    json["note"] = plan.reason;
  }
  return json;
}

Json JsonOfPlans(const QueryPlan& plan) {
  Json json = plan.chosen ? JsonOfPlan(plan.candidates[*plan.chosen]) : Json::object();
  if (plan.refusal) json["refused"] = plan.refusal->message();
  json["candidates"] = Json::array();
  for (size_t i = 0; i < plan.candidates.size(); ++i) {
    json["candidates"].push_back(JsonOfCandidate(plan, i));
  }
  return json;
}

}  // namespace tallyd
