// S6: tables that may hold less than their events said, or more (config/schema/merge_risk.h). By
// the file alone a declared query says so of a row key; the data say whether it happened. Where a
// table keeps no field that tells, nobody can.
#include "config/lint/rule_groups.h"
#include "config/schema/merge_risk.h"

namespace tallyd {
namespace {

std::string Named(const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) text += (text.empty() ? "" : ", ") + Quoted(field);
  return text;
}

std::string WhyOf(const MergeRisk& risk, const std::string& key) {
  if (risk.any()) return key + " lacks " + Named(risk.Fields());
  if (!risk.serialized.empty()) return "its fields are in one cell, which each replaces whole";
  if (!risk.valued.empty()) return "columns are named by values, and none covers what it corrects";
  return key + " did not tell them apart";
}

}  // namespace

void LintMerges(const LintSubject& subject, LintFindings* found) {
  const Table& table = subject.table;
  if (!MayMergeEvents(table)) return;
  const MergeRisk risk = MergeRiskOf(subject.schema, table);
  const std::string key = "row_key " + Quoted(table.row_key.text());
  const std::string lacks = WhyOf(risk, key);
  if (subject.live != nullptr) {
    const auto live = subject.live->tables.find(table.name);
    const bool knows = live != subject.live->tables.end();
    if (knows && live->second.merged_events > 0) {
      return found->AddSchema(6, table.name,
                              "at least " + std::to_string(live->second.merged_events) +
                                  " events fell on cells of others: " + lacks);
    }
  }
  const std::vector<std::string> queried = QueriedBesideKey(subject.stream, table);
  if (!queried.empty()) {
    return found->AddSchema(6, table.name,
                            key + " lacks " + Named(queried) + ", by which a declared query asks");
  }
  if (LacksUnnamedLabels(subject.stream, table)) {
    return found->AddSchema(6, table.name,
                            key + " lacks {labels}: events that differ in a label alone may fall "
                                  "on one cell");
  }
  if (risk.untold.empty()) return;
  found->AddSchema(
      6, table.name,
      key + " lacks " + Named(risk.untold) +
          ", and no column of its own keeps it: nobody can tell whether events merged");
}

}  // namespace tallyd
