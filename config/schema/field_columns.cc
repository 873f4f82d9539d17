#include "config/schema/field_columns.h"

#include <optional>

#include "config/schema/table_rules.h"

namespace tallyd {
namespace {

// The name of the field's column; nothing where it depends on more than the field.
std::optional<std::string> QualifierOf(const ColumnRule& rule, std::string_view field) {
  if (const std::string* const renamed = RenamedTo(rule, field)) return *renamed;
  std::string name;
  for (const Segment& segment : rule.name.segments()) {
    if (segment.is_literal()) {
      name += segment.literal;
    } else if (IsMeasuredField(rule, segment) && segment.spec.kind == SpecKind::kText) {
      name += NameInRule(rule, field);
    } else {
      return std::nullopt;
    }
  }
  return name;
}

}  // namespace

FieldColumns ColumnsOfField(const Table& table, std::string_view field) {
  FieldColumns found;
  found.is_named = field == table.time_field || table.row_key.UsesField(field) ||
                   FieldsNamedBy(table).contains(field);
  for (const ColumnRule& rule : table.columns) {
    if (!RuleTakes(table, rule, field)) continue;
    std::optional<std::string> qualifier = QualifierOf(rule, field);
    if (!qualifier || table.row_key.names_measured_field()) {
      found.anywhere = true;
    } else {
      found.columns.emplace_back(rule.family, std::move(*qualifier));
    }
  }
  return found;
}

}  // namespace tallyd
