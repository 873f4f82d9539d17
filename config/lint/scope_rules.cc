// S35: tables that tokens with a scope write to without seeing them. An event's own field decides
// whether it may be written, and it enters all tables of its stream; whose row is whose only a key
// tells, and where it does not give the field back, one tenant's event takes another's cell.
#include <algorithm>

#include "config/lint/lint.h"
#include "config/lint/table_facts.h"

namespace tallyd {
namespace {

bool Holds(const Table& table, const std::string& field) {
  return std::ranges::count(table.row_key.entity_fields(), field) > 0;
}

LintFinding SharedBy(const std::string& field, const Table& table, const Table& holder) {
  const std::string& key = table.row_key.text();
  return SchemaFindingOf(35, table.name,
                         "row_key " + Quoted(key) + " does not give back " + Quoted(field) +
                             ", which scopes of tokens name and the key of " + holder.name +
                             " holds; " + Quoted("{" + field + "}#" + key) + " would");
}

}  // namespace

std::vector<LintFinding> LintScopes(const Schema& schema, const ScopeFields& fields) {
  std::vector<LintFinding> findings;
  for (const std::string& field : fields) {
    for (const Stream& stream : schema.streams) {
      const auto holder = std::ranges::find_if(stream.tables, [&](size_t index) {
        return Holds(schema.tables[index], field);
      });
      if (holder == stream.tables.end()) continue;  // It is not about tenants.
      for (const size_t index : stream.tables) {
        const Table& table = schema.tables[index];
        if (Holds(table, field)) continue;
        findings.push_back(SharedBy(field, table, schema.tables[*holder]));
      }
    }
  }
  return findings;
}

}  // namespace tallyd
