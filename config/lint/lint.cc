#include "config/lint/lint.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "config/lint/rule_groups.h"

namespace tallyd {
namespace {

void LintTable(const LintSubject& subject, LintFindings* found) {
  for (auto* group : {LintKeyHead, LintKeySegments, LintHistory, LintFamilies, LintInputTypes,
                      LintSizes, LintMerges, LintNames}) {
    group(subject, found);
  }
}

}  // namespace

std::vector<LintFinding> Lint(const Schema& schema, const ScopeFields& scope_fields,
                              const LiveFacts* live) {
  LintFindings found;
  for (const Stream& stream : schema.streams) {
    for (const size_t index : stream.tables) {
      LintTable({schema, stream, schema.tables[index], live}, &found);
    }
    LintQueries(schema, stream, live, &found);
  }
  LintInstance(schema, &found);
  std::ranges::move(LintScopes(schema, scope_fields), std::back_inserter(found.all));
  // A table's place in the file; what is of all of them comes last.
  std::map<std::string, size_t, std::less<>> places;
  for (const Table& table : schema.tables) places.emplace(table.name, places.size());
  const auto place = [&](const LintFinding& finding) {
    const auto known = places.find(finding.table);
    const size_t of_table = known == places.end() ? places.size() : known->second;
    return std::pair(of_table, PlaceOfRule(finding.rule));
  };
  std::ranges::stable_sort(found.all, {}, place);
  return std::move(found.all);
}

}  // namespace tallyd
