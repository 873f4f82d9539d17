#include "api/handlers.h"
#include "config/schema/merge_risk.h"
#include "ingest/text/json.h"
#include "service/rows/row_query.h"
#include "storage/merge_witness.h"

namespace tallyd {
namespace {

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

Json JsonOfRule(const ColumnRule& rule) {
  Json json = {{"family", rule.family}};
  if (!rule.fields.empty()) json["fields"] = rule.fields;
  json["name"] = rule.name.text();
  if (rule.serialize == Serialization::kNone) {
    json["value"] = rule.value.text();
  } else {
    json["serialize"] = NameOf(rule.serialize);
  }
  for (const auto& [field, qualifier] : rule.rename) json["rename"][field] = qualifier;
  if (rule.compact_names) json["names"] = "compact";
  return json;
}

Json JsonOfFamily(const Family& rules) {
  Json json = Json::object();
  if (rules.aggregate) json["aggregate"] = ToString(*rules.aggregate);
  if (rules.bucket_us) json["bucket"] = FormatDuration(*rules.bucket_us);
  if (rules.max_age_us) json["max_age"] = FormatDuration(*rules.max_age_us);
  if (rules.max_versions) json["max_versions"] = *rules.max_versions;
  if (rules.expire_by_both) json["gc"] = "all";
  return json;
}

Json JsonOfDaily(const Daily& daily) {
  Json json = {{"name", daily.name()}, {"at", FormatTimeOfDay(daily.at_us)}};
  if (daily.keep_us) json["keep"] = FormatDuration(*daily.keep_us);
  return json;
}

// In name order; without those that are no longer configured (of orphaned tables: all).
Json JsonOfFamilies(const TableInfo& info) {
  std::vector<const StoredFamily*> by_rank(info.families.size());
  for (size_t i = 0; i < info.families.size(); ++i) {
    by_rank[info.family_rank[i]] = &info.families[i];
  }
  Json json = Json::object();
  for (const StoredFamily* family : by_rank) {
    if (!family->configured && !info.orphaned) continue;
    json[JsonName(family->name)] = JsonOfFamily(family->rules);
  }
  return json;
}

// How much there is of it. Of a table that others have rows of, too, that is theirs to know: null.
Status AddSizes(const Access& access, const TablePtr& info, const Table* table, Store& store,
                Json* json) {
  const bool are_counted = store.capabilities().merge_witness != nullptr;
  const bool merges = table != nullptr && are_counted && MayMergeEvents(*table);
  if (access.is_scoped()) {
    json->update({{"rows", nullptr}, {"rows_exact", false}, {"disk_bytes", nullptr}});
    if (merges) (*json)["merged_events"] = nullptr;
    return {};
  }
  const Result<TableStats> stats = store.Stats(info);
  if (!stats) return stats.error();
  (*json)["rows"] = stats->rows;
  (*json)["rows_exact"] = stats->rows_exact;
  (*json)["disk_bytes"] = stats->disk_bytes;
  if (merges) (*json)["merged_events"] = MergedIn(store, *info).count;
  return {};
}

Result<Json> JsonOfTable(const Access& access, const TablePtr& info, Store& store) {
  const Table* const table = access.schema().FindTable(info->name);
  Json json = {{"name", info->name},
               {"stream", info->stream},
               {"pattern", info->pattern},
               {"row_key", JsonOfText(info->row_key)}};
  if (info->mode == TableMode::kLatestRow) json["keep"] = "row";
  if (table != nullptr) {
    json["time"] = table->time_field;
    if (table->daily) json["daily"] = JsonOfDaily(*table->daily);
    if (table->nightly) {
      json["source"] = table->nightly->source;
      json["date"] = FormatDate(table->nightly->day);
    }
    if (!table->when.empty()) json["when"] = table->when;
    if (table->max_bytes) json["max_bytes"] = *table->max_bytes;
    json["columns"] = Json::array();
    for (const ColumnRule& rule : table->columns) json["columns"].push_back(JsonOfRule(rule));
  }
  json["families"] = JsonOfFamilies(*info);
  json["orphaned"] = info->orphaned;
  if (Status sizes = AddSizes(access, info, table, store, &json); !sizes) return sizes.error();
  return json;
}

}  // namespace

Response ListTables(const Request& request, ApiContext& context) {
  if (Status status = request.params.RefuseUnknown({}); !status) return ProblemOf(status.error());
  const Access access = context.AccessOf(*request.principal);
  Json tables = Json::array();
  for (const TablePtr& info : context.store.Tables()) {
    if (!access.Sees(info->name)) continue;
    Result<Json> json = JsonOfTable(access, info, context.store);
    if (!json) return ProblemOf(json.error());
    tables.push_back(std::move(*json));
  }
  return Response::Of(200, {{"tables", std::move(tables)}});
}

Response GetTable(const Request& request, ApiContext& context) {
  if (Status status = request.params.RefuseUnknown({}); !status) return ProblemOf(status.error());
  const Access access = context.AccessOf(*request.principal);
  const Result<TablePtr> info = FindStoredTable(access, context.store, request.arguments[0]);
  if (!info) return ProblemOf(info.error());
  const Result<Json> json = JsonOfTable(access, *info, context.store);
  return json ? Response::Of(200, *json) : ProblemOf(json.error());
}

}  // namespace tallyd
