// The rules of lint, in groups by what they look at; Lint (config/lint/lint.h) asks each of them of
// every table, and the last of the instance. Each appends what it finds. Only for lint.
#ifndef TALLYD_CONFIG_LINT_RULE_GROUPS_H_
#define TALLYD_CONFIG_LINT_RULE_GROUPS_H_

#include <string>
#include <utility>
#include <vector>

#include "config/lint/table_facts.h"

namespace tallyd {

class LintFindings {
 public:
  void Add(int rule, const std::string& table, std::string detail) {
    all.push_back(FindingOf(rule, table, std::move(detail)));
  }
  // Of SchemaRules.
  void AddSchema(int rule, const std::string& table, std::string detail) {
    all.push_back(SchemaFindingOf(rule, table, std::move(detail)));
  }
  // With another severity than the rule's usual one.
  void Add(int rule, Severity severity, const std::string& table, std::string detail) {
    Add(rule, table, std::move(detail));
    all.back().severity = severity;
  }

  std::vector<LintFinding> all;
};

void LintKeyHead(const LintSubject& subject, LintFindings* found);      // L1, L2, L3, L9, L10
void LintKeySegments(const LintSubject& subject, LintFindings* found);  // L5, L6, L11 to L17, time
void LintHistory(const LintSubject& subject, LintFindings* found);      // L4, L18 to L21, L35
void LintFamilies(const LintSubject& subject, LintFindings* found);     // L24 to L26
void LintInputTypes(const LintSubject& subject, LintFindings* found);   // L33
void LintSizes(const LintSubject& subject, LintFindings* found);        // L22, L23, L34
void LintMerges(const LintSubject& subject, LintFindings* found);       // S6
void LintNames(const LintSubject& subject, LintFindings* found);        // S7
// L7, L8, L30, L31, of all tables of a stream.
void LintQueries(const Schema& schema, const Stream& stream, const LiveFacts* live,
                 LintFindings* found);
void LintInstance(const Schema& schema, LintFindings* found);  // L27 to L29, S8

}  // namespace tallyd

#endif  // TALLYD_CONFIG_LINT_RULE_GROUPS_H_
