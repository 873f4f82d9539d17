// Column rules: `columns` of a table, with its pattern's own name and value where a rule leaves
// them out.
#include <algorithm>

#include "config/file/load.h"
#include "config/file/read_keys.h"
#include "config/schema/column_claims.h"
#include "config/schema/table_rules.h"

namespace tallyd {
namespace {

void ParseTemplate(const TomlReader& reader, std::string_view key, const std::string& text,
                   const Table& table, ValueTemplate* out) {
  Result<ValueTemplate> parsed = ValueTemplate::Parse(text, table.time_field);
  if (parsed) {
    *out = std::move(*parsed);
  } else {
    reader.Mistake(key, parsed.error().message(), RuleOfTemplate(parsed.error()));
  }
}

void ReadRename(TomlReader* reader, const Table& table, ColumnRule* rule) {
  for (TomlReader& rename : reader->Table("rename")) {
    for (auto& [field, qualifier] : rename.StringMembers()) {
      if (!RuleTakes(table, *rule, field)) {
        rename.Mistake(field,
                       "the rule does not take this field; accepted: fields that it takes" +
                           (rule->fields.empty() ? std::string() : ", " + Listed(rule->fields)) +
                           "; those that the row key or the time uses only by their name");
      }
      const auto same =
          std::find_if(rule->rename.begin(), rule->rename.end(),
                       [&q = qualifier](const auto& other) { return other.second == q; });
      if (same != rule->rename.end()) {
        rename.Mistake(field, "\"" + qualifier + "\" is also the new name of \"" + same->first +
                                  "\"; accepted: a qualifier of its own for each field");
      }
      rule->rename.emplace_back(field, qualifier);
    }
  }
}

// A serialized rule is one cell: what shapes single columns contradicts it.
void CheckSerialized(const TomlReader& reader, const ColumnRule& rule) {
  if (!rule.name.is_constant()) {
    reader.Mistake("name",
                   "holds a placeholder, but `serialize` makes one cell of all fields; "
                   "accepted: text without placeholders");
  }
  for (const char* key : {"value", "rename", "names"}) {
    if (reader.Has(key)) {
      reader.Mistake(key,
                     "has no meaning where `serialize` makes one cell of all fields; "
                     "accepted: family, fields, name, serialize");
    }
  }
}

void CheckPerEvent(const TomlReader& reader) {
  for (const char* key : {"rename", "names"}) {
    if (reader.Has(key)) {
      reader.Mistake(key,
                     "is for the names of fields, but this rule runs once per event; "
                     "accepted: family, fields, name, value; with `fields` or {field} it runs "
                     "once per field");
    }
  }
}

// "sum" and the other kinds, as the file has them.
std::string AggregatesListed() {
  std::string names;
  for (const AggregateInfo& info : kAggregates) {
    const bool is_last = &info == &kAggregates.back();
    if (!names.empty()) names += is_last ? " or " : ", ";
    names.append("\"").append(info.name).append("\"");
  }
  return names;
}

// Why the rules of the table cannot write into the family; empty if they can.
std::string WrongKind(const Table& table, const Family& family) {
  const std::string pattern(ToString(table.pattern));
  if (MergesInputs(table) && !family.aggregate) {
    return "\"" + family.name + "\" is a plain family, and the pattern " + pattern +
           " writes into aggregate ones; accepted: a family with aggregate = " + AggregatesListed();
  }
  if (!MergesInputs(table) && family.aggregate) {
    return "\"" + family.name + "\" is " + KindOf(family) + ", and the pattern " + pattern +
           " writes plain cells; accepted: a plain family, or the pattern " +
           PatternsWith(&PatternInfo::merges_inputs);
  }
  return {};
}

void ReadFamilyName(TomlReader* reader, const Table& table, ColumnRule* rule) {
  std::vector<std::string> declared;
  for (const Family& family : table.families) declared.push_back(family.name);
  if (!reader->Has("family")) {
    reader->Mistake("family", "is needed; accepted: " + Listed(declared));
  }
  if (!reader->String("family", &rule->family) || declared.empty()) return;
  if (table.FindFamily(rule->family) == nullptr) {
    reader->Mistake("family",
                    "\"" + rule->family +
                        "\" is not one of the table's families; accepted: " + Listed(declared));
    return;
  }
  const std::string wrong = WrongKind(table, *table.FindFamily(rule->family));
  if (!wrong.empty()) reader->Mistake("family", wrong, 32);
}

ColumnRule ReadRule(TomlReader reader, const Table& table) {
  ColumnRule rule;
  const PatternInfo& own = InfoOf(table.pattern);
  ReadFamilyName(&reader, table, &rule);
  // A rule that says what its cells hold is not the serialized pattern's own.
  if (!reader.Has("value")) rule.serialize = own.serialize;
  ReadKeys(&reader, &rule);
  const bool serialized = rule.serialize != Serialization::kNone;
  if (serialized && own.merges_inputs) {
    reader.Mistake("serialize",
                   "an aggregate family merges single values; accepted: no serialize, or a table "
                   "of another pattern",
                   33);
  }
  const bool unlike_own = own.serialize != Serialization::kNone && !serialized;
  std::string name(serialized ? kBlobName : unlike_own ? "{field}" : own.rule_name);
  std::string value(serialized ? "" : own.rule_value);
  reader.String("name", &name);
  reader.String("value", &value);
  ParseTemplate(reader, "name", name, table, &rule.name);
  ParseTemplate(reader, "value", value, table, &rule.value);
  ReadRename(&reader, table, &rule);
  rule.per_field =
      serialized || !rule.fields.empty() || rule.name.Names("field") || rule.value.Names("field") ||
      (name == own.rule_name && value == own.rule_value) || table.row_key.names_measured_field();
  if (serialized) {
    CheckSerialized(reader, rule);
  } else if (!rule.per_field) {
    CheckPerEvent(reader);
  }
  reader.Finish();
  return rule;
}

}  // namespace

ColumnRule DefaultRule(const Table& table) {
  const PatternInfo& own = InfoOf(table.pattern);
  ColumnRule rule;
  rule.family = table.families[0].name;
  rule.serialize = own.serialize;
  // The patterns' own templates parse.
  if (auto name = ValueTemplate::Parse(own.rule_name, table.time_field)) {
    rule.name = std::move(*name);
  }
  if (auto value = ValueTemplate::Parse(own.rule_value, table.time_field)) {
    rule.value = std::move(*value);
  }
  return rule;
}

void CheckRuleFields(const TomlReader& rule, ColumnRule* filled) {
  if (filled->fields.empty()) {
    rule.Mistake("fields", "is empty; accepted: names or globs of event fields, or no fields");
  }
  std::vector<std::string> sorted = filled->fields;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    rule.Mistake("fields", "names \"" + *twice + "\" twice; accepted: each field once");
  }
}

void ReadColumns(TomlReader* table_reader, Table* table) {
  for (const TomlReader& reader : table_reader->TablesOf("columns")) {
    table->columns.push_back(ReadRule(reader, *table));
  }
  // Nobody knows what rules with mistakes write.
  const auto clash = table_reader->AnyMistakes() ? std::nullopt : ColumnClaims(*table).clash();
  if (clash) {
    table_reader->Mistake("columns",
                          *clash + "; accepted: a column of its own for each field and each rule");
  }
  if (!table->columns.empty() || table->families.empty()) return;
  if (table_reader->IsEmptyArray("columns")) {
    table_reader->Mistake("columns",
                          "has no rule; accepted: tables with family and, where wanted, fields, "
                          "name, value, rename, names, serialize");
  } else if (table_reader->Has("columns")) {
    return;  // Of another type, which is a mistake already.
  } else if (table->families.size() > 1) {
    table_reader->Mistake("columns",
                          "is needed, since the table has several families; accepted: an array of "
                          "tables, each with its family");
  } else {
    const std::string wrong = WrongKind(*table, table->families[0]);
    if (!wrong.empty()) table_reader->Mistake("families", wrong, 32);
    table->columns.push_back(DefaultRule(*table));
  }
}

}  // namespace tallyd
