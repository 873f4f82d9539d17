// S35: tables in which tokens with a scope get in each other's way. An event's own field decides
// whether it may be written, and it enters all tables of its stream; whose row is whose only a key
// tells, and where it does not give the field back, one tenant's event takes another's cell. Where
// it does, `max_bytes` takes the table's oldest rows, whoever wrote the newest.
#include <algorithm>

#include "config/lint/lint.h"
#include "config/lint/table_facts.h"

namespace tallyd {
namespace {

bool Holds(const Schema& schema, const Stream& stream, const Table& table,
           const std::string& field) {
  return std::ranges::count(table.row_key.entity_fields(), field) > 0 ||
         KeyMayHoldAsLabel(schema, stream, table, field);
}

LintFinding SharedBy(const std::string& field, const Table& table, const Table& holder) {
  const std::string& key = table.row_key.text();
  return SchemaFindingOf(35, table.name,
                         "row_key " + Quoted(key) + " does not give back " + Quoted(field) +
                             ", which scopes of tokens name and the key of " + holder.name +
                             " holds; " + Quoted("{" + field + "}#" + key) + " would");
}

LintFinding CappedTogether(const std::string& field, const Table& table) {
  return SchemaFindingOf(35, table.name,
                         "max_bytes is one for all values of " + Quoted(field) +
                             ", which scopes of tokens name: what one of them writes removes the "
                             "oldest rows of the others");
}

}  // namespace

std::vector<LintFinding> LintScopes(const Schema& schema, const ScopeFields& fields) {
  std::vector<LintFinding> findings;
  for (const std::string& field : fields) {
    for (const Stream& stream : schema.streams) {
      const auto holder = std::ranges::find_if(stream.tables, [&](size_t index) {
        return Holds(schema, stream, schema.tables[index], field);
      });
      if (holder == stream.tables.end()) continue;  // It is not about tenants.
      for (const size_t index : stream.tables) {
        const Table& table = schema.tables[index];
        if (!Holds(schema, stream, table, field)) {
          findings.push_back(SharedBy(field, table, schema.tables[*holder]));
        } else if (table.max_bytes) {
          findings.push_back(CappedTogether(field, table));
        }
      }
    }
  }
  return findings;
}

}  // namespace tallyd
