// POST /v1/tables/{table}/daily?date=2017-07-26: builds a nightly table now. And what /v1/status
// tells of nightly tables.
#include "api/handlers.h"
#include "api/routes/nightly_json.h"

namespace tallyd {
namespace {

std::string_view NameOf(NightlyState::Kind kind) {
  switch (kind) {
    case NightlyState::Kind::kBuilding:
      return "building";
    case NightlyState::Kind::kBehind:
      return "behind";
    case NightlyState::Kind::kNotBuilt:
      return "failed";
    case NightlyState::Kind::kBuilt:
      return "built";
  }
  return "";
}

Result<TimeUs> ReadDate(const Params& params) {
  if (Status ok = params.RefuseUnknown({"date"}); !ok) return ok.error();
  if (Status ok = params.RefuseRepeated(); !ok) return ok.error();
  const auto text = params.Get("date");
  if (!text) return Invalid("date: say which day, as in date=2017-07-26");
  const std::optional<TimeUs> day = ParseDate(*text);
  if (!day) return Invalid("date: '" + std::string(*text) + "' is no day, as in date=2017-07-26");
  return *day;
}

}  // namespace

Json JsonOfNightly(const ApiContext& context) {
  Json json = Json::array();
  for (const NightlyState& state : context.jobs.nightly.States()) {
    Json one = {{"table", state.table},
                {"source", state.source},
                {"date", FormatDate(state.day)},
                {"state", NameOf(state.kind)}};
    if (state.kind == NightlyState::Kind::kNotBuilt) {
      one["reason"] = JsonOfText(state.why);
    } else {
      one["rows"] = state.done.rows;
      one["cells"] = state.done.cells;
      if (state.built_at > 0) one["built_at"] = JsonOfTime(state.built_at);
    }
    json.push_back(std::move(one));
  }
  return json;
}

Response PostDaily(const Request& request, ApiContext& context) {
  const std::string& name = request.arguments[0];
  const auto snapshot = context.snapshot();
  const Table* table = snapshot->schema->FindTable(name);
  if (table == nullptr) return Problem(404, "there is no table '" + name + "'");
  if (!table->daily) {
    return Problem(400, "table " + name + " has no nightly tables: daily is not among its keys");
  }
  const Result<TimeUs> day = ReadDate(request.params);
  if (!day) return ProblemOf(day.error());
  const Result<NightlyRecord> built = context.jobs.nightly.Build(name, *day);
  if (!built) return ProblemOf(built.error());
  return Response::Of(200,
                      {{"table", built->name}, {"rows", built->rows}, {"cells", built->cells}});
}

}  // namespace tallyd
