#include "tools/copy/copy_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ingest/text/json_text.h"
#include "ingest/text/percent.h"
#include "tools/copy/event_pages.h"
#include "tools/transfer/export_plan.h"
#include "tools/transfer/state_file.h"

namespace tallyd {
namespace {

std::string Quoted(std::string_view name) {
  std::string quoted;
  AppendJsonString(name, &quoted);
  return quoted;
}

// The name of an event's time in the target, which went by `field` in the source.
Result<std::string> TimeFieldInTarget(const Schema& schema, const std::string& stream,
                                      const std::string& field) {
  std::set<std::string> names;
  for (const Table* table : TablesOf(schema, stream)) names.insert(table->time_field);
  if (names.contains(field)) return field;
  if (names.size() == 1) return *names.begin();
  return Error(ErrorCode::kConflict,
               fmt::format("the source's events go by {}, and the tables of {} in the target by "
                           "none of that name: {}",
                           field, stream, fmt::join(names, ", ")));
}

}  // namespace

std::vector<const Table*> TablesOf(const Schema& schema, const std::string& stream) {
  std::vector<const Table*> tables;
  for (const Table& table : schema.tables) {
    if (table.stream == stream && !table.nightly) tables.push_back(&table);
  }
  return tables;
}

std::vector<OwnTime> OwnTimesOf(const Schema& schema, const std::string& stream,
                                const std::string& time_field) {
  std::vector<OwnTime> own;
  for (const Table* table : TablesOf(schema, stream)) {
    if (table->time_field == time_field) continue;
    own.push_back({table->name, Quoted(table->time_field), {}});
    for (const std::string& field : table->when) own.back().when.push_back(Quoted(field));
  }
  return own;
}

Result<StreamPlan> PlanStream(const CopyEnds& ends, const std::string& stream,
                              const CopyAsked& asked) {
  const std::string path = "/v1/streams/" + EncodePercent(stream);
  const Result<HttpAnswer> there = ends.from.Ask({"GET", path, {}, {}});
  if (!there) return there.error();
  if (there->status != kHttpOk) return Error(ErrorCode::kNotFound, DetailOf(*there));
  StreamPlan plan;
  plan.stream = stream;
  const Result<TimeUnit> unit = UnitSaid(Json::parse(there->body, nullptr, false));
  if (!unit) return unit.error();
  plan.from_unit = *unit;
  plan.to_unit = ends.schema.FindStream(stream)->unit;
  TransferLine line;
  line.stream = stream;
  line.from = QueryTimeText(asked.time.from);
  line.to = QueryTimeText(asked.time.to);
  const Result<ExportPlan> planned = PlanExport(line, ends.from);
  if (!planned) return planned.error();
  plan.lack = planned->lack;
  for (const std::string& name : planned->tables) {
    const Result<Json> table = ends.from.GetJson("/v1/tables/" + EncodePercent(name));
    if (!table) return table.error();
    Result<std::string> time = TimeFieldInTarget(ends.schema, stream, StateText(*table, "time"));
    if (!time) return time.error();
    plan.tables.push_back({name, std::move(*time)});
  }
  return plan;
}

Json JsonOfStreamPlan(const StreamPlan& plan) {
  Json tables = Json::array();
  for (const SourceTable& table : plan.tables) tables.push_back({table.name, table.time_field});
  return {{"stream", plan.stream},
          {"from_unit", ToString(plan.from_unit)},
          {"tables", std::move(tables)},
          {"lack", plan.lack}};
}

Result<StreamPlan> StreamPlanOfJson(const Json& json, const Schema& schema) {
  StreamPlan plan;
  plan.stream = StateText(json, "stream");
  plan.lack = StateText(json, "lack");
  const Stream* const stream = schema.FindStream(plan.stream);
  const Result<TimeUnit> unit = UnitSaid(json, "from_unit");
  if (stream == nullptr || !unit) return Error(ErrorCode::kCorruption, "it has no plan");
  plan.from_unit = *unit;
  plan.to_unit = stream->unit;
  for (const Json& table : json.value("tables", Json::array())) {
    if (!table.is_array() || table.size() != 2 || !table[0].is_string() || !table[1].is_string()) {
      return Error(ErrorCode::kCorruption, "it has no plan");
    }
    plan.tables.push_back({table[0].get<std::string>(), table[1].get<std::string>()});
  }
  return plan;
}

}  // namespace tallyd
