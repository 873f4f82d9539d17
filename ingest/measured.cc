#include "ingest/measured.h"

#include <algorithm>

#include "config/glob.h"

namespace tallyd {

bool KeyHolds(const Table& table, std::string_view field) {
  return std::ranges::any_of(table.row_key.segments(), [field](const Segment& segment) {
    return segment.field == field && !segment.is_literal() && !segment.is_salt() &&
           !segment.spec.is_time() && field != kFieldPlaceholder;
  });
}

bool RuleTakes(const Table& table, const ColumnRule& rule, std::string_view field) {
  const bool measured = field != table.time_field && !KeyHolds(table, field);
  if (rule.fields.empty()) return measured;
  return std::ranges::any_of(rule.fields, [&](const std::string& wanted) {
    if (!IsGlob(wanted)) return wanted == field;
    return measured && GlobMatches(wanted, field);
  });
}

const std::string* RenamedTo(const ColumnRule& rule, std::string_view field) {
  for (const auto& [from, to] : rule.rename) {
    if (from == field) return &to;
  }
  return nullptr;
}

std::string NameInRule(const ColumnRule& rule, std::string_view field) {
  return rule.compact_names ? CompactName(field) : std::string(field);
}

}  // namespace tallyd
