#include <string>

#include "api/cell_json.h"
#include "api/handlers.h"
#include "api/row_cells.h"
#include "api/rows/row_query.h"

namespace tallyd {
namespace {

void AppendMember(std::string_view name, std::string_view text, std::string* out) {
  if (out->back() != '{') out->push_back(',');
  AppendJsonString(name, out);
  out->push_back(':');
  AppendJsonString(text, out);
}

void AppendStrings(std::string_view name, const std::vector<std::string>& texts, std::string* out) {
  if (texts.empty()) return;
  if (out->back() != '{') out->push_back(',');
  AppendJsonString(name, out);
  out->append(":[");
  for (const std::string& text : texts) {
    if (&text != &texts.front()) out->push_back(',');
    AppendJsonString(text, out);
  }
  out->push_back(']');
}

std::string_view NameOf(Serialization how) {
  switch (how) {
    case Serialization::kNone:
      return "";
    case Serialization::kProtobuf:
      return "protobuf";
    case Serialization::kJson:
      return "json";
    case Serialization::kCbor:
      return "cbor";
  }
  return "";
}

void AppendRule(const ColumnRule& rule, std::string* out) {
  out->push_back('{');
  AppendMember("family", rule.family, out);
  AppendStrings("fields", rule.fields, out);
  AppendMember("name", rule.name.text(), out);
  if (rule.serialize == Serialization::kNone) {
    AppendMember("value", rule.value.text(), out);
  } else {
    AppendMember("serialize", NameOf(rule.serialize), out);
  }
  if (!rule.rename.empty()) {
    out->append(",\"rename\":{");
    for (const auto& [field, qualifier] : rule.rename) AppendMember(field, qualifier, out);
    out->push_back('}');
  }
  if (rule.compact_names) AppendMember("names", "compact", out);
  out->push_back('}');
}

void AppendFamily(const StoredFamily& family, std::string* out) {
  AppendJsonName(family.name, out);
  out->append(":{");
  const Family& rules = family.rules;
  if (rules.max_age_us) AppendMember("max_age", FormatDuration(*rules.max_age_us), out);
  if (rules.max_versions) {
    if (out->back() != '{') out->push_back(',');
    out->append("\"max_versions\":" + std::to_string(*rules.max_versions));
  }
  if (rules.expire_by_both) AppendMember("gc", "all", out);
  out->push_back('}');
}

void AppendFamilies(const TableInfo& info, std::string* out) {
  out->append(",\"families\":{");
  std::vector<const StoredFamily*> by_rank(info.families.size());
  for (size_t i = 0; i < info.families.size(); ++i) {
    by_rank[info.family_rank[i]] = &info.families[i];
  }
  for (const StoredFamily* family : by_rank) {
    if (!family->configured && !info.orphaned) continue;
    if (out->back() != '{') out->push_back(',');
    AppendFamily(*family, out);
  }
  out->push_back('}');
}

void AppendTable(const TablePtr& info, const Table* table, Store& store, std::string* out) {
  out->push_back('{');
  AppendMember("name", info->name, out);
  AppendMember("stream", info->stream, out);
  AppendMember("pattern", info->pattern, out);
  AppendMember("row_key", info->row_key, out);
  if (info->mode == TableMode::kLatestRow) AppendMember("keep", "row", out);
  if (table != nullptr) {
    AppendMember("time", table->time_field, out);
    AppendStrings("when", table->when, out);
    out->append(",\"columns\":[");
    for (const ColumnRule& rule : table->columns) {
      if (&rule != &table->columns.front()) out->push_back(',');
      AppendRule(rule, out);
    }
    out->push_back(']');
  }
  AppendFamilies(*info, out);
  const TableStats stats = store.Stats(info);
  out->append(info->orphaned ? ",\"orphaned\":true" : ",\"orphaned\":false");
  out->append(",\"rows\":" + std::to_string(stats.rows));
  out->append(stats.rows_exact ? ",\"rows_exact\":true" : ",\"rows_exact\":false");
  out->append(",\"disk_bytes\":" + std::to_string(stats.disk_bytes));
  out->push_back('}');
}

}  // namespace

Response ListTables(const Request& request, ApiContext& context) {
  if (Status status = request.params.RefuseUnknown({}); !status) return ProblemOf(status.error());
  const auto snapshot = context.snapshot();
  std::string body = "{\"tables\":[";
  for (const TablePtr& info : context.store.Tables()) {
    if (body.back() != '[') body.push_back(',');
    AppendTable(info, snapshot->schema->FindTable(info->name), context.store, &body);
  }
  return Response::Json(200, body + "]}");
}

Response GetTable(const Request& request, ApiContext& context) {
  if (Status status = request.params.RefuseUnknown({}); !status) return ProblemOf(status.error());
  const Result<TablePtr> info = FindStoredTable(context.store, request.arguments[0]);
  if (!info) return ProblemOf(info.error());
  const auto snapshot = context.snapshot();
  std::string body;
  AppendTable(*info, snapshot->schema->FindTable((*info)->name), context.store, &body);
  return Response::Json(200, body);
}

}  // namespace tallyd
