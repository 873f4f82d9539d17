#include "tests/api/query/schema_model/model_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace tallyd {
namespace {

using nlohmann::json;

const std::vector<std::string> kFamilies = {"F", "G", "H"};

std::string Quoted(const std::vector<std::string>& fields) {
  std::string list;
  for (const std::string& field : fields) list += (list.empty() ? "\"" : ", \"") + field + "\"";
  return list;
}

std::vector<std::string> SomeFields(Chance* chance) {
  std::vector<std::string> fields = chance->Some(kMeasured, 0.5);
  if (chance->Is(0.5)) fields.insert(fields.end(), kSpelled.begin(), kSpelled.end());
  return fields.empty() ? std::vector<std::string>{"n"} : fields;
}

ModelRule Taking(const std::vector<std::string>& fields, const std::string& more) {
  ModelRule rule;
  rule.text = ", fields = [" + Quoted(fields) + "]" + more;
  rule.fields = {fields.begin(), fields.end()};
  return rule;
}

ModelRule OncePerEvent(const std::string& name, const std::string& value,
                       std::set<std::string> needs, bool typed) {
  ModelRule rule;
  rule.text = ", name = \"" + name + "\", value = \"" + value + "\"";
  rule.needs = std::move(needs);
  rule.typed = typed;
  rule.one_cell = true;
  return rule;
}

ModelRule CompactRule(Chance* chance) {
  const std::string compact = R"(, names = "compact")";
  ModelRule rule;
  rule.text = compact;
  if (chance->Is(0.5)) rule = Taking(SomeFields(chance), compact);
  rule.compact = true;
  return rule;
}

ModelRule Blob(Chance* chance) {
  const std::string more =
      fmt::format(R"(, name = "b", serialize = "{}")", chance->Text({"json", "cbor", "protobuf"}));
  ModelRule rule;
  rule.text = more;
  if (chance->Is(0.4)) rule = Taking(SomeFields(chance), more);
  rule.one_cell = true;
  return rule;
}

ModelRule AsText(ModelRule rule) {
  rule.typed = false;
  return rule;
}

// One of those that any table may have whose columns are its own affair.
ModelRule RandomRule(const TableModel& table, Chance* chance) {
  if (table.compacts() && chance->Is(0.7)) return CompactRule(chance);
  ModelRule rule;
  const bool default_tells = table.pattern != "new-column";
  switch (chance->Below(table.compacts() || !default_tells ? 3 : 11)) {
    case 0:
      return OncePerEvent("c", "{n}|{x}", {"n", "x"}, false);
    case 1:
      return OncePerEvent("s", "{s}", {"s"}, true);
    case 2:
      if (table.is_latest()) return OncePerEvent("n", "{n}", {"n"}, true);
      return OncePerEvent("{" + table.time + ":%H:%M}", "{n}", {"n"}, true);
    case 3:
    case 4:
      return Taking(SomeFields(chance), "");
    case 5:
      return Blob(chance);
    case 6:
      rule.text = R"(, rename = { n = "number", s = "x2" })";
      return rule;
    case 7:
      return AsText(Taking(SomeFields(chance), R"(, value = "v={value}")"));
    case 8:
      if (table.is_latest()) return rule;
      rule.text = R"(, name = "{field}:{id}")";
      rule.with = "id";
      return rule;
    case 9:
      if (table.is_latest()) return rule;
      return AsText(Taking({"n", "s"}, R"(, name = "{value}", value = "{field}")"));
    default:
      return rule;
  }
}

// The rules of tables whose key names the measured field, of which each has its own row.
ModelRule RuleOfFieldKey(const TableModel& table, Chance* chance) {
  const bool in_name = table.pattern == "new-column";
  switch (chance->Below(in_name ? 2 : 4)) {
    case 0: {
      ModelRule rule = Taking(SomeFields(chance), "");
      rule.typed = !in_name;
      return rule;
    }
    case 2:
      return AsText(Taking(SomeFields(chance), R"(, value = "v={value}")"));
    default: {
      ModelRule rule;
      rule.typed = !in_name;
      return rule;
    }
  }
}

void AddRule(TableModel* table, Chance* chance) {
  const std::string& family = table->is_latest() ? kFamilies[0] : chance->Of(kFamilies);
  table->rules.erase(family);
  table->rules[family] =
      table->field_in_key ? RuleOfFieldKey(*table, chance) : RandomRule(*table, chance);
}

bool OwnRules(const TableModel& table) { return !table.pattern.ends_with("-serialized"); }

void ChooseKey(TableModel* table, Chance* chance) {
  const auto key = [&](const std::string& before, const std::string& spec) {
    table->row_key = before + "{" + table->time + ":" + spec + "}";
  };
  const bool has_id = chance->Is(0.3);
  table->key_fields = {"host"};
  if (has_id) table->key_fields.push_back("id");
  std::string entity =
      chance->Text({"{host}#", "{host}#", "{host:pad(6)}#", "{host:salt(3)}-{host}#"});
  if (has_id) entity += chance->Text({"{id}#", "{id:zero(4)}#"});
  if (table->pattern == "latest") {
    table->row_key = entity.substr(0, entity.size() - 1);
    return;
  }
  table->field_in_key = table->pattern == "new-column" ? chance->Is(0.7) : chance->Is(0.1);
  if (!OwnRules(*table)) table->field_in_key = false;
  if (table->field_in_key) {
    entity = chance->Is(0.3) ? "{field}#" + entity : entity + "{field}#";
  }
  table->full_time = table->pattern.starts_with("single");
  if (table->full_time) return key(entity, chance->Text({"us", "ms", "reverse(ms)"}));
  key(entity, chance->Text({"hour", "day", "bucket(30m)", "week", "year", "%Y-%m-%d", "minute"}));
}

// The rules that a table has which says nothing of its columns, but for the family's name.
ModelRule DefaultRule(const TableModel& table) {
  ModelRule rule;
  rule.typed = table.pattern != "new-column";
  rule.one_cell = !OwnRules(table);
  return rule;
}

void ChooseGc(TableModel* table, Chance* chance) {
  table->max_age_ms.reset();
  table->max_versions.reset();
  if (table->is_latest()) return;
  if (chance->Is(0.08)) table->max_age_ms = chance->Is(0.5) ? 3'600'000 : 7'200'000;
  if (chance->Is(0.08)) table->max_versions = 1 + static_cast<int>(chance->Below(3));
}

void ChooseWhen(TableModel* table, Chance* chance) {
  table->when = table->time == "qt"                     ? "qt"
                : table->IsKey("id") && chance->Is(0.5) ? "id"
                : chance->Is(0.15)                      ? chance->Of(kMeasured)
                                                        : "";
}

}  // namespace

bool TableModel::IsKey(std::string_view field) const {
  return std::find(key_fields.begin(), key_fields.end(), field) != key_fields.end();
}

bool TableModel::compacts() const {
  return std::any_of(rules.begin(), rules.end(),
                     [](const auto& each) { return each.second.compact; });
}

bool TableModel::Holds(const std::string& field) const {
  json event = {{"host", "h"}, {"id", 1}, {time, 1}};
  for (const std::string& measured : kMeasured) event[measured] = 1;
  event[field] = 1;
  if (IsKey(field)) return true;
  TableModel any = *this;
  any.when = "";
  return any.Kept(event).contains(field);
}

bool TableModel::HoldsTyped(const std::string& field) const {
  if (IsKey(field)) return false;
  bool as_text = false;       // By some rule, or beside what it keeps.
  bool typed = false;         // By some rule, ...
  bool typed_always = false;  // ... of every event that has the field.
  for (const auto& each : rules) {
    const ModelRule& rule = each.second;
    TableModel alone = *this;
    alone.rules = {each};
    if (!alone.Holds(field)) continue;
    if (!rule.typed) {
      as_text = true;
      continue;
    }
    typed = true;
    const auto is_there = [&](const std::string& other) {
      return other == field || IsKey(other) || other == when;
    };
    typed_always = typed_always || ((rule.with.empty() || is_there(rule.with)) &&
                                    std::ranges::all_of(rule.needs, is_there));
  }
  return typed && (typed_always || !as_text);
}

bool TableModel::MayMergeIds() const {
  return !is_latest() && !IsKey("id") &&
         !std::ranges::all_of(rules, [](const auto& each) { return each.second.with == "id"; });
}

bool TableModel::TellsIds() const {
  return std::ranges::any_of(rules, [](const auto& each) {
    const ModelRule& rule = each.second;
    return rule.fields.empty() && rule.needs.empty() && rule.with.empty() && rule.typed &&
           !rule.one_cell;
  });
}

std::set<std::string> TableModel::Kept(const json& event) const {
  std::set<std::string> kept;
  if (!event.contains(time) || (!when.empty() && !event.contains(when))) return kept;
  for (const auto& [family, rule] : rules) {
    const bool has_needs =
        std::all_of(rule.needs.begin(), rule.needs.end(),
                    [&](const std::string& field) { return event.contains(field); });
    if (!rule.needs.empty()) {
      if (has_needs) kept.insert(rule.needs.begin(), rule.needs.end());
      continue;
    }
    if (!rule.with.empty() && !event.contains(rule.with)) continue;
    bool any = false;
    for (const auto& [field, value] : event.items()) {
      const bool taken = rule.fields.empty() ? field != time && !IsKey(field) && field != rule.with
                                             : rule.fields.contains(field);
      if (taken) kept.insert(field);
      any = any || taken;
    }
    if (any && !rule.with.empty() && !IsKey(rule.with)) kept.insert(rule.with);
  }
  return kept;
}

std::string TableModel::Toml() const {
  std::string columns;
  std::string families;
  for (const std::string& family : kFamilies) {
    std::string keeps;
    if (max_age_ms) keeps = fmt::format("max_age = \"{}s\"", *max_age_ms / 1000);
    if (max_versions) {
      keeps += fmt::format("{}max_versions = {}", keeps.empty() ? "" : ", ", *max_versions);
    }
    families += fmt::format("families.{} = {{ {} }}\n", family, keeps);
    if (!rules.contains(family)) continue;
    columns += fmt::format("{}{{ family = \"{}\"{} }}", columns.empty() ? "" : ",\n  ", family,
                           rules.at(family).text);
  }
  std::string text = fmt::format(
      "[tables.{}]\nstream = \"s\"\npattern = \"{}\"\nrow_key = \"{}\"\ncolumns = [{}]\n{}", name,
      pattern, row_key, columns, families);
  if (keep_row) text += "keep = \"row\"\n";
  if (time != "ts") text += "time = \"" + time + "\"\n";
  if (!when.empty()) text += "when = [\"" + when + "\"]\n";
  return text;
}

TableModel RandomTable(const std::string& name, Chance* chance) {
  TableModel table;
  table.name = name;
  table.pattern =
      chance->Text({"single-timestamp", "single-timestamp", "single-timestamp-serialized",
                    "new-cell-serialized", "new-cell", "new-column", "latest"});
  table.time = chance->Is(0.1) ? "qt" : "ts";
  ChooseKey(&table, chance);
  ChooseWhen(&table, chance);
  ChooseGc(&table, chance);
  table.keep_row = table.is_latest() && chance->Is(0.3);
  table.rules["F"] = DefaultRule(table);
  const bool default_tells = table.pattern != "new-column" || table.field_in_key;
  if (!OwnRules(table) || (default_tells && chance->Is(0.3))) return table;
  const bool compact = default_tells && !table.field_in_key && chance->Is(0.25);
  table.rules.clear();
  if (compact) table.rules["F"] = CompactRule(chance);
  const size_t more = compact ? chance->Below(2) : 1 + chance->Below(3);
  for (size_t i = 0; i < (table.is_latest() && compact ? 0 : more); ++i) AddRule(&table, chance);
  return table;
}

TableModel Changed(TableModel table, Chance* chance) {
  switch (chance->Below(4)) {
    case 0:
      ChooseGc(&table, chance);
      return table;
    case 1:
      ChooseWhen(&table, chance);
      return table;
    case 2:
      if (table.rules.size() < 2) break;
      table.rules.erase(
          std::next(table.rules.begin(), static_cast<long>(chance->Below(table.rules.size()))));
      return table;
    default:
      break;
  }
  if (OwnRules(table)) AddRule(&table, chance);
  return table;
}

TableModel TableOfAll() {
  TableModel table;
  table.name = "ALL";
  table.pattern = "single-timestamp";
  table.row_key = "{host}#{ts:us}";
  table.key_fields = {"host"};
  table.full_time = true;
  table.rules["F"] = {};
  return table;
}

}  // namespace tallyd
