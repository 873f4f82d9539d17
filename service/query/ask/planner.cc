#include "service/query/ask/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

constexpr KeyRange kWholeTable = {};

Error Unprocessable(std::string message) {
  return Error(ErrorCode::kUnprocessable, std::move(message));
}

std::string Joined(const std::vector<std::string>& names, std::string_view between) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += between;
    text += name;
  }
  return text;
}

Status Estimate(const EventQuery& query, Store& store, TablePlan* plan) {
  EstimateSpec spec;
  spec.ranges =
      plan->is_scan() ? std::span(&kWholeTable, 1) : std::span<const KeyRange>(plan->ranges.ranges);
  spec.cells = query.time;
  spec.column_share = plan->column_share;
  Result<ScanEstimate> estimate = store.Estimate(plan->stored, spec);
  if (!estimate) return estimate.error();
  plan->estimate = *estimate;
  return {};
}

Status CheckPinned(const EventQuery& query) {
  if (query.table.empty()) return {};
  const Table* table = query.schema().FindTable(query.table);
  if (table == nullptr) {
    std::vector<std::string> names;
    for (const size_t index : query.stream->tables) {
      names.push_back(query.schema().tables[index].name);
    }
    return Error(ErrorCode::kNotFound, "there is no table '" + query.table +
                                           "'; the stream's are " + Joined(names, ", "));
  }
  if (table->stream != query.stream->name) {
    return Invalid("table: " + query.table + " is fed by stream " + table->stream + ", not by " +
                   query.stream->name);
  }
  const PatternInfo& pattern = InfoOf(table->pattern);
  if (pattern.keeps_events()) return {};
  const std::string keeps =
      fmt::format("table: {} keeps {}; GET /v1/", query.table, pattern.instead_of_events);
  return pattern.keeps_newest
             ? Unprocessable(keeps + "streams/" + query.stream->name + "/latest reads them")
             : Invalid(keeps + "tables/" + query.table + "/rows reads its rows");
}

// Which is likely to be less work, by the schema alone.
bool IsNarrower(const KeyRanges& a, const KeyRanges& b) {
  if (a.bounds != b.bounds) return a.bounds > b.bounds;
  return a.ranges.size() < b.ranges.size();
}

// Why nothing is left: no candidate holds what is asked for, or can be planned.
Error NoneFits(const EventQuery& query, const QueryPlan& plan) {
  if (plan.candidates.empty()) {
    return Unprocessable("stream " + query.stream->name + " feeds no table");
  }
  std::string message = "no table of stream " + query.stream->name + " can answer this";
  const char* between = ": ";
  for (const TablePlan& candidate : plan.candidates) {
    if (!query.table.empty() && candidate.table->name != query.table) continue;
    message += between + candidate.table->name + ": " + candidate.reason;
    between = "; ";
  }
  return Unprocessable(std::move(message));
}

// Why only whole tables are left, and what would make the query a range.
Error NeedsScan(const QueryPlan& plan, const std::vector<size_t>& fit) {
  std::string message = "this would read a whole table";
  for (const size_t index : fit) {
    const TablePlan& candidate = plan.candidates[index];
    message += "; " + candidate.table->name + " becomes a range with ";
    message += candidate.ranges.would_bound.empty()
                   ? std::string("a field of its row key ") + candidate.table->row_key.text()
                   : Joined(candidate.ranges.would_bound, " or ");
  }
  for (const TablePlan& candidate : plan.candidates) {
    if (candidate.standing == Standing::kPartial && !candidate.is_scan()) {
      message += "; table=" + candidate.table->name + " is a range, but " + candidate.reason;
    }
  }
  return Unprocessable(message + "; scan=1 reads it all the same");
}

// The indices of the best class of candidates: whole ones before partial ones, ranges before scans,
// of partial ones the fullest.
std::vector<size_t> Fittest(const QueryPlan& plan) {
  std::vector<size_t> fit;
  const auto keep = [&](auto&& wanted) {
    std::vector<size_t> kept;
    for (const size_t index : fit) {
      if (wanted(plan.candidates[index])) kept.push_back(index);
    }
    if (!kept.empty()) fit = std::move(kept);
  };
  for (size_t i = 0; i < plan.candidates.size(); ++i) {
    if (plan.candidates[i].standing != Standing::kUnfit) fit.push_back(i);
  }
  keep([](const TablePlan& candidate) { return candidate.standing == Standing::kWhole; });
  keep([](const TablePlan& candidate) { return !candidate.is_scan(); });
  if (fit.empty()) return fit;
  const Lack least =
      plan.candidates[*std::min_element(fit.begin(), fit.end(),
                                        [&](size_t a, size_t b) {
                                          return plan.candidates[a].lack < plan.candidates[b].lack;
                                        })]
          .lack;
  keep([&](const TablePlan& candidate) {
    return candidate.standing == Standing::kWhole || candidate.lack == least;
  });
  return fit;
}

}  // namespace

Result<QueryPlan> PlanEvents(const EventQuery& query, Store& store, Estimates estimates) {
  if (Status status = CheckPinned(query); !status) return status.error();
  QueryPlan plan;
  plan.candidates = Candidates(query, store);
  const std::vector<size_t> fit = Fittest(plan);
  const bool estimates_any = !query.access.is_scoped();
  for (size_t i = 0; estimates_any && i < plan.candidates.size(); ++i) {
    const bool is_fit = std::find(fit.begin(), fit.end(), i) != fit.end();
    const bool wanted = estimates == Estimates::kAll
                            ? plan.candidates[i].standing != Standing::kUnfit
                            : is_fit && fit.size() > 1;
    if (!wanted) continue;
    if (Status status = Estimate(query, store, &plan.candidates[i]); !status) return status.error();
  }
  if (fit.empty()) {
    plan.refusal = NoneFits(query, plan);
    return plan;
  }
  plan.chosen = *std::min_element(fit.begin(), fit.end(), [&](size_t a, size_t b) {
    if (fit.size() == 1) return false;
    if (!estimates_any) return IsNarrower(plan.candidates[a].ranges, plan.candidates[b].ranges);
    return plan.candidates[a].cost() < plan.candidates[b].cost();
  });
  if (plan.candidates[*plan.chosen].is_scan() && !query.scan) {
    plan.refusal = NeedsScan(plan, fit);
  }
  return plan;
}

Result<TablePlan> PlanLatest(const EventQuery& query, Store& store) {
  const Table* latest = nullptr;
  for (const size_t index : query.stream->tables) {
    const Table& table = query.schema().tables[index];
    const bool named = query.table.empty() || query.table == table.name;
    if (latest == nullptr && named && KeepsNewest(table)) latest = &table;
  }
  if (latest == nullptr) {
    return Error(ErrorCode::kNotFound, "stream " + query.stream->name + " has no latest table" +
                                           (query.table.empty() ? "" : " '" + query.table + "'") +
                                           ": none of its tables has pattern = \"latest\"");
  }
  TablePlan plan = LatestCandidate(query, store, *latest);
  const std::string why = latest->name + ": " + plan.reason;
  if (plan.stored == nullptr) return Error(ErrorCode::kUnavailable, why);
  if (plan.standing == Standing::kUnfit) return Unprocessable(why);
  return plan;
}

std::string WhyNot(const QueryPlan& plan, size_t index) {
  const TablePlan& candidate = plan.candidates[index];
  if (candidate.standing == Standing::kUnfit) return candidate.reason;
  if (plan.chosen == index || !plan.chosen) return "";
  const TablePlan& chosen = plan.candidates[*plan.chosen];
  if (candidate.standing < chosen.standing) return candidate.reason;
  if (candidate.is_scan() && !chosen.is_scan()) return "it would read the whole table";
  if (candidate.standing == Standing::kPartial && candidate.lack > chosen.lack) {
    return candidate.reason + "; " + chosen.table->name + " lacks less";
  }
  if (!candidate.estimate || !chosen.estimate) {
    return IsNarrower(chosen.ranges, candidate.ranges)
               ? fmt::format("{} is bounded by more of its key, or by fewer ranges",
                             chosen.table->name)
               : "it is bounded like " + chosen.table->name + ", and comes later in the file";
  }
  if (candidate.cost() == chosen.cost()) return "it costs as much, and comes later in the file";
  return fmt::format("it costs more: {}, and {} {}", candidate.cost(), chosen.table->name,
                     chosen.cost());
}

}  // namespace tallyd
