#include "tools/transfer/export_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ingest/text/json.h"
#include "ingest/text/percent.h"
#include "tools/transfer/state_file.h"

namespace tallyd {
namespace {

struct Chosen {
  std::string table;
  std::string lack;  // Empty: it holds everything that was asked for.
};

Result<Chosen> Choose(const PatientClient& client, const std::string& stream,
                      const std::string& parameters) {
  const Result<Json> plan = client.GetJson(stream + "/plan?" + parameters);
  if (!plan) return plan.error();
  Chosen chosen{StateText(*plan, "table"), StateText(*plan, "note")};
  if (chosen.table.empty()) return Error(ErrorCode::kConflict, StateText(*plan, "refused"));
  // Events may turn out to have fallen on one cell of it only while it is read: where another table
  // that holds everything is at no such risk, that one is read.
  const Json candidates = plan->value("candidates", Json::array());
  const auto is_at_risk = [](const Json& candidate) { return candidate.value("at_risk", false); };
  const bool doubtful = std::ranges::any_of(candidates, [&](const Json& candidate) {
    return StateText(candidate, "table") == chosen.table && is_at_risk(candidate);
  });
  if (!doubtful || !chosen.lack.empty()) return chosen;
  for (const Json& candidate : candidates) {
    const bool is_whole = candidate.contains("kind") && candidate.value("complete", true);
    if (is_whole && !is_at_risk(candidate)) chosen.table = StateText(candidate, "table");
    if (is_whole && !is_at_risk(candidate)) break;
  }
  return chosen;
}

// A name in a list of fields: a comma inside of it is escaped, and nothing else.
std::string FieldParameter(const std::string& name) {
  std::string escaped;
  for (const char c : name) {
    if (c == ',') escaped.push_back('\\');
    escaped.push_back(c);
  }
  return "&fields=" + EncodePercent(escaped);
}

// What comes with every event of a table.
struct TableKey {
  std::string row_key;
  std::string time;
};

Result<std::vector<TableKey>> KeysOf(const PatientClient& client, const std::string& stream) {
  const Result<Json> said = client.GetJson(stream);
  if (!said) return said.error();
  std::vector<TableKey> keys;
  for (const Json& name : said->value("tables", Json::array())) {
    if (!name.is_string()) continue;
    const Result<Json> table =
        client.GetJson("/v1/tables/" + EncodePercent(name.get<std::string>()));
    if (!table) return table.error();
    keys.push_back({StateText(*table, "row_key"), StateText(*table, "time")});
  }
  return keys;
}

bool HasField(const TableKey& key, const std::string& field) {
  const std::string& row_key = key.row_key;
  return row_key.find("{" + field + "}") != std::string::npos ||
         row_key.find("{" + field + ":") != std::string::npos;
}

}  // namespace

std::string QueryTimeText(TimeUs time) {
  return fmt::format("{}.{:03}", time / kUsPerMs, time % kUsPerMs);
}

Result<TimeUnit> UnitSaid(const Json& json, const char* member) {
  const std::string text = StateText(json, member);
  for (const TimeUnit unit : {TimeUnit::kSeconds, TimeUnit::kMilliseconds, TimeUnit::kMicroseconds,
                              TimeUnit::kNanoseconds}) {
    if (ToString(unit) == text) return unit;
  }
  return Error(ErrorCode::kIo, "the daemon names no unit of time: " + text);
}

std::string ExportParameters(const TransferLine& line) {
  std::string parameters = "scan=1";
  if (!line.from.empty()) parameters += "&from=" + EncodePercent(line.from);
  if (!line.to.empty()) parameters += "&to=" + EncodePercent(line.to);
  return parameters;
}

Result<ExportPlan> PlanExport(const TransferLine& line, const PatientClient& client) {
  const std::string stream = "/v1/streams/" + EncodePercent(line.stream);
  std::string parameters = ExportParameters(line);
  if (!line.table.empty()) parameters += "&table=" + EncodePercent(line.table);
  const Result<Chosen> fullest = Choose(client, stream, parameters);
  if (!fullest) return fullest.error();
  ExportPlan plan{{fullest->table}, fullest->lack};
  if (plan.lack.empty() || !line.table.empty()) return plan;
  const Result<Json> fields = client.GetJson(stream + "/fields");
  if (!fields) return fields.error();
  const Result<std::vector<TableKey>> keys = KeysOf(client, stream);
  if (!keys) return keys.error();
  // Events lie in several tables, each with fields of its own. Every event is in one of them, with
  // its key and that table's time, so it is enough that every other field is whole somewhere.
  std::optional<std::string> lack;
  for (const Json& field : fields->value("fields", Json::array())) {
    const std::string name = StateText(field, "name");
    if (std::ranges::all_of(*keys, [&](const auto& key) { return HasField(key, name); })) continue;
    const Result<Chosen> chosen = Choose(client, stream, parameters + FieldParameter(name));
    if (!chosen) return chosen.error();
    if (std::ranges::find(plan.tables, chosen->table) == plan.tables.end()) {
      plan.tables.push_back(chosen->table);
    }
    if (std::ranges::find(*keys, name, &TableKey::time) != keys->end()) continue;
    if (!lack || !chosen->lack.empty()) lack = chosen->lack;
  }
  plan.lack = lack.value_or(plan.lack);
  return plan;
}

Result<CsvSpelling> SpellingOf(const std::string& stream, const std::string& table,
                               const PatientClient& client) {
  const Result<Json> of_stream = client.GetJson("/v1/streams/" + EncodePercent(stream));
  if (!of_stream) return of_stream.error();
  const Result<TimeUnit> unit = UnitSaid(*of_stream);
  if (!unit) return unit.error();
  const Result<Json> of_table = client.GetJson("/v1/tables/" + EncodePercent(table));
  if (!of_table) return of_table.error();
  return CsvSpelling(StateText(*of_table, "time"), *unit);
}

Status CheckLinks(const std::string& events, const PatientClient& client) {
  const Result<Json> page = client.GetJson(events + "&format=json&limit=1");
  if (!page) return page.error();
  if (StateText(*page, "next").empty()) return {};
  const Result<HttpAnswer> lines = client.Ask({"GET", events + "&format=ndjson&limit=1", {}, {}});
  if (!lines) return lines.error();
  if (lines->status == kHttpOk && !NextPath(*lines).empty()) return {};
  return Error(ErrorCode::kIo,
               "the header Link, which leads to the next page, does not come "
               "through: ask the daemon itself, or have it let through");
}

// Where rows are of single measured fields an event is put together by its time.
Result<bool> ComesByKey(const std::string& table, const PatientClient& client) {
  const Result<Json> said = client.GetJson("/v1/tables/" + EncodePercent(table));
  if (!said) return said.error();
  return !HasField({StateText(*said, "row_key"), {}}, "field");
}

}  // namespace tallyd
