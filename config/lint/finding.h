// What lint has to say: rules, each with a number or a name that stays its own for ever, and
// findings, which name the rule, the table, what is there and what would cure it. LintRules,
// SchemaRules and TimeRule are all there are; the page docs/lint.md has a row for each of them,
// which a test compares. Plain values.
#ifndef TALLYD_CONFIG_LINT_FINDING_H_
#define TALLYD_CONFIG_LINT_FINDING_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "config/file/mistakes.h"

namespace tallyd {

enum class Severity : uint8_t { kError, kWarn, kInfo };

std::string_view ToString(Severity severity);  // "error", "warn", "info"

struct LintRule {
  int number;                 // 2 is L2, or S2; kTimeRule of the one that has a name.
  std::string_view severity;  // As the page shows it; a rule may know several.
  Severity usual;
  std::string_view what;  // What the rule finds.
  std::string_view why;
  std::string_view cure;
};

// L1 to L35, each at its place.
std::span<const LintRule> LintRules();
// S6, S7, S35: about what a schema makes of the events that come, rather than about its text.
std::span<const LintRule> SchemaRules();
// `time`: a key whose only time is of another field than the table's.
const LintRule& TimeRule();

// Where a rule stands among others, by its name: L2 before L10, all of those before S6, and what
// has no number last. The name is its last part.
using RulePlace = std::tuple<int, int, std::string>;
RulePlace PlaceOfRule(std::string_view name);

struct LintFinding {
  std::string rule;  // "L2", "S6", "time"
  Severity severity = Severity::kWarn;
  std::string table;  // "" for the whole instance.
  std::string detail;
  std::string cure;
};

// With the rule's usual severity, and its cure. `number`: of LintRules, or kTimeRule.
LintFinding FindingOf(int number, std::string table, std::string detail);
// The same of SchemaRules. REQUIRES: it is there.
LintFinding SchemaFindingOf(int number, std::string table, std::string detail);

bool AnyError(std::span<const LintFinding> findings);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_LINT_FINDING_H_
