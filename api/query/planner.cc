#include "api/query/planner.h"

#include <algorithm>
#include <utility>

#include "api/cell_json.h"
#include "api/query/completeness.h"
#include "config/glob.h"
#include "config/table_rules.h"

namespace tallyd {
namespace {

constexpr uint64_t kCountedRows = 1000;
constexpr KeyRange kWholeTable = {};

Error Unprocessable(std::string message) {
  return Error(ErrorCode::kUnprocessable, std::move(message));
}

bool Holds(const EventQuery& query, const Table& table, std::string_view field) {
  return query.IsTime(table, field) || TableHolds(table, field);
}

// Of what is asked for by name, filtered or grouped by, and matched by globs: what the table lacks.
std::vector<std::string> MissingFields(const EventQuery& query, const Table& table,
                                       const std::vector<std::string>& asked) {
  std::vector<std::string> missing;
  const auto check = [&](const std::string& field) {
    const bool known = std::find(missing.begin(), missing.end(), field) != missing.end();
    if (!known && !Holds(query, table, field)) missing.push_back(field);
  };
  for (const std::string& field : asked) check(field);
  for (const FieldFilter& filter : query.filters) check(filter.field);
  for (const std::string& field : query.by) check(field);
  return missing;
}

std::string Joined(const std::vector<std::string>& names, std::string_view between) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += between;
    text += name;
  }
  return text;
}

// Whether the ranges are less than the table for a reason that the query gave. A table whose key
// begins with {field} fans out over every field that is known, and so reads all of itself.
Result<bool> IsBounded(const EventQuery& query, const TablePlan& plan) {
  if (!plan.ranges.bounded) return false;
  if (!plan.table->row_key.names_measured_field() || !query.fields.empty()) return true;
  KnownFields fields_alone;
  const auto names = plan.known.values.find("field");
  if (names != plan.known.values.end()) fields_alone.values.insert(*names);
  Result<RangePlan> all = PlanRanges(plan.table->row_key, fields_alone, query.stream->unit);
  if (!all) return all.error();
  return all->ranges != plan.ranges.ranges || all->ranges.empty();
}

// Everything about a candidate but its estimate. What makes it unfit is in why_not.
TablePlan Examine(const EventQuery& asked_query, const Store& store, const Table& table) {
  const EventQuery query = InTermsOf(table, asked_query);
  TablePlan plan;
  plan.table = &table;
  plan.stored = store.FindTable(table.name);
  if (table.pattern == Pattern::kLatest) {
    plan.why_not = "it keeps only the latest values";
    return plan;
  }
  if (!query.table.empty() && query.table != table.name) {
    plan.why_not = "table=" + query.table + " was asked for";
    return plan;
  }
  const std::vector<std::string> asked = AskedFields(query);
  const std::vector<std::string> missing = MissingFields(query, table, asked);
  if (!missing.empty()) {
    plan.why_not = "it does not hold " + Joined(missing, ", ");
    return plan;
  }
  if (plan.stored == nullptr) {
    plan.why_not = "it is not in the store yet";
    return plan;
  }
  plan.known = KnownOf(query, table);
  Result<RangePlan> ranges = PlanRanges(table.row_key, plan.known, query.stream->unit);
  if (!ranges) {
    plan.why_not = ranges.error().message();
    return plan;
  }
  plan.ranges = std::move(*ranges);
  const Result<bool> bounded = IsBounded(query, plan);
  plan.bounded = bounded && *bounded;
  plan.planned = true;
  plan.note = WhatIsMissing(query, table, asked);
  plan.complete = plan.note.empty();
  return plan;
}

// Where no field is asked for, all are: beside a table that holds whatever any of them does, one
// that holds less is not complete.
void NoteNarrowTables(const EventQuery& query, QueryPlan* plan) {
  if (!query.fields.empty()) return;
  std::vector<std::pair<TablePlan*, std::string>> planned;  // And a field that it lacks.
  for (TablePlan& candidate : plan->candidates) {
    if (candidate.planned) planned.emplace_back(&candidate, "");
  }
  if (planned.size() < 2) return;
  for (const std::string& field : query.known->names()) {
    const auto holds = [&](const auto& each) { return Holds(query, *each.first->table, field); };
    if (std::none_of(planned.begin(), planned.end(), holds)) continue;
    for (auto& each : planned) {
      if (each.second.empty() && !holds(each)) each.second = field;
    }
  }
  const bool any_whole = std::any_of(planned.begin(), planned.end(),
                                     [](const auto& each) { return each.second.empty(); });
  for (auto& [candidate, field] : planned) {
    if (!any_whole || field.empty() || !candidate->complete) continue;
    candidate->complete = false;
    candidate->note = candidate->table->name + " does not hold " + field;
  }
}

Status Estimate(Store& store, TablePlan* plan) {
  const std::span<const KeyRange> ranges =
      plan->bounded ? std::span<const KeyRange>(plan->ranges.ranges) : std::span(&kWholeTable, 1);
  Result<uint64_t> rows = store.EstimateRows(plan->stored, ranges, kCountedRows);
  if (!rows) return rows.error();
  plan->estimated_rows = *rows;
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
  if (table->pattern == Pattern::kLatest) {
    return Unprocessable("table: " + query.table +
                         " keeps only the latest values; GET /v1/streams/" + query.stream->name +
                         "/latest reads them");
  }
  return {};
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
    message += between + candidate.table->name + ": " + candidate.why_not;
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
    if (candidate.planned && !candidate.complete && candidate.bounded) {
      message += "; table=" + candidate.table->name + " is a range, but " + candidate.note;
    }
  }
  return Unprocessable(message + "; scan=1 reads it all the same");
}

// The indices of the best class of candidates: complete before incomplete, ranges before scans.
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
    if (plan.candidates[i].planned) fit.push_back(i);
  }
  keep([](const TablePlan& candidate) { return candidate.complete; });
  keep([](const TablePlan& candidate) { return candidate.bounded; });
  return fit;
}

void Explain(QueryPlan* plan, const std::vector<size_t>& fit) {
  for (size_t i = 0; i < plan->candidates.size(); ++i) {
    TablePlan& candidate = plan->candidates[i];
    const bool fits = std::find(fit.begin(), fit.end(), i) != fit.end();
    if (!candidate.planned || fits) continue;
    candidate.why_not = candidate.complete ? "it would read the whole table" : candidate.note;
  }
}

}  // namespace

std::vector<std::string> AskedFields(const EventQuery& query) {
  std::vector<std::string> asked;
  for (const std::string& pattern : query.fields) {
    for (std::string& name : query.known->Matching(pattern)) {
      if (std::find(asked.begin(), asked.end(), name) == asked.end()) {
        asked.push_back(std::move(name));
      }
    }
  }
  return asked;
}

KnownFields KnownOf(const EventQuery& query, const Table& table) {
  KnownFields known;
  known.time = query.time;
  std::vector<std::string> measured;
  const auto add_measured = [&](const std::string& field) {
    const bool is_new = std::find(measured.begin(), measured.end(), field) == measured.end();
    if (is_new && AnyRuleTakes(table, field)) measured.push_back(field);
  };
  for (const FieldFilter& filter : query.filters) {
    if (table.row_key.UsesField(filter.field) && filter.field != "field") {
      known.values[filter.field] = filter.values;
    }
    if (!KeyHolds(table, filter.field)) add_measured(filter.field);
  }
  if (!table.row_key.names_measured_field()) return known;
  const bool only_filters = query.fields.empty();
  if (!only_filters) {
    for (const std::string& field : AskedFields(query)) add_measured(field);
  }
  for (const std::string& field : query.by) add_measured(field);
  const auto comes_with_others = [&](const std::string& field) {
    return ComesWithOthers(table, field);
  };
  const bool asks_measured = !only_filters && !measured.empty() &&
                             std::ranges::none_of(AskedFields(query), comes_with_others);
  if (!asks_measured) {
    for (const std::string& field : query.known->names()) add_measured(field);
  }
  known.values["field"] = std::move(measured);
  return known;
}

Result<QueryPlan> PlanEvents(const EventQuery& query, Store& store, Estimates estimates) {
  if (Status status = CheckPinned(query); !status) return status.error();
  QueryPlan plan;
  for (const size_t index : query.stream->tables) {
    plan.candidates.push_back(Examine(query, store, query.schema().tables[index]));
  }
  NoteNarrowTables(query, &plan);
  const std::vector<size_t> fit = Fittest(plan);
  Explain(&plan, fit);
  for (size_t i = 0; i < plan.candidates.size(); ++i) {
    const bool is_fit = std::find(fit.begin(), fit.end(), i) != fit.end();
    const bool wanted =
        estimates == Estimates::kAll ? plan.candidates[i].planned : is_fit && fit.size() > 1;
    if (!wanted) continue;
    if (Status status = Estimate(store, &plan.candidates[i]); !status) return status.error();
  }
  if (fit.empty()) {
    plan.refusal = NoneFits(query, plan);
    return plan;
  }
  plan.chosen = *std::min_element(fit.begin(), fit.end(), [&](size_t a, size_t b) {
    return plan.candidates[a].estimated_rows < plan.candidates[b].estimated_rows;
  });
  if (!plan.candidates[*plan.chosen].bounded && !query.scan) {
    plan.refusal = NeedsScan(plan, fit);
  }
  return plan;
}

Result<TablePlan> PlanLatest(const EventQuery& query, const Store& store) {
  const Table* latest = nullptr;
  for (const size_t index : query.stream->tables) {
    const Table& table = query.schema().tables[index];
    const bool named = query.table.empty() || query.table == table.name;
    if (latest == nullptr && named && table.pattern == Pattern::kLatest) latest = &table;
  }
  if (latest == nullptr) {
    return Error(ErrorCode::kNotFound, "stream " + query.stream->name + " has no latest table" +
                                           (query.table.empty() ? "" : " '" + query.table + "'") +
                                           ": none of its tables has pattern = \"latest\"");
  }
  TablePlan plan;
  plan.table = latest;
  plan.stored = store.FindTable(latest->name);
  if (plan.stored == nullptr) {
    return Error(ErrorCode::kUnavailable, latest->name + " is not in the store yet");
  }
  const EventQuery own = InTermsOf(*latest, query);
  const std::vector<std::string> missing = MissingFields(own, *latest, AskedFields(own));
  if (!missing.empty()) {
    return Unprocessable(latest->name + " does not hold " + Joined(missing, ", "));
  }
  plan.known = KnownOf(own, *latest);
  Result<RangePlan> ranges = PlanRanges(latest->row_key, plan.known, query.stream->unit);
  if (!ranges) return ranges.error();
  plan.ranges = std::move(*ranges);
  if (!plan.ranges.bounded) plan.ranges.ranges = {kWholeTable};
  plan.planned = plan.bounded = true;  // Reading a whole latest table is its purpose.
  return plan;
}

void AppendPlanMembers(const TablePlan& plan, std::string* out) {
  *out += "\"table\":";
  AppendJsonString(plan.table->name, out);
  *out += plan.is_scan() ? ",\"kind\":\"scan\"" : ",\"kind\":\"range\"";
  *out += ",\"ranges\":" + std::to_string(plan.is_scan() ? 1 : plan.ranges.ranges.size());
  if (!plan.complete) {
    *out += ",\"complete\":false,\"note\":";
    AppendJsonString(plan.note, out);
  }
}

std::string PlanJson(const QueryPlan& plan) {
  std::string out = "{";
  if (plan.chosen) {
    AppendPlanMembers(plan.candidates[*plan.chosen], &out);
    out += ",";
  }
  if (plan.refusal) {
    out += "\"refused\":";
    AppendJsonString(plan.refusal->message(), &out);
    out += ",";
  }
  out += "\"candidates\":[";
  for (size_t i = 0; i < plan.candidates.size(); ++i) {
    const TablePlan& candidate = plan.candidates[i];
    if (i > 0) out += ",";
    out += "{";
    if (candidate.planned) {
      AppendPlanMembers(candidate, &out);
      if (candidate.estimated_rows) {
        out += ",\"estimated_rows\":" + std::to_string(*candidate.estimated_rows);
      }
    } else {
      out += "\"table\":";
      AppendJsonString(candidate.table->name, &out);
    }
    out += plan.chosen == i ? ",\"chosen\":true" : ",\"chosen\":false";
    if (!candidate.why_not.empty()) {
      out += ",\"why_not\":";
      AppendJsonString(candidate.why_not, &out);
    }
    out += "}";
  }
  return out + "]}";
}

}  // namespace tallyd
