// What lint has to say: rules, each with a number or a name that stays its own for ever, and
// findings, which
// name the rule, the table, what is there and what would cure it. LintRules is the one list; the
// page docs/lint.md has a row for each of them, which a test compares. Plain values.
#ifndef TALLYD_CONFIG_LINT_FINDING_H_
#define TALLYD_CONFIG_LINT_FINDING_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/file/mistakes.h"

namespace tallyd {

enum class Severity : uint8_t { kError, kWarn, kInfo };

std::string_view ToString(Severity severity);  // "error", "warn", "info"

struct LintRule {
  int number;                 // 2 is L2; of those with a name a constant below.
  std::string_view severity;  // As the page shows it; a rule may know several.
  Severity usual;
  std::string_view what;  // What the rule finds.
  std::string_view why;
  std::string_view cure;
};

// L1 to L35, each at its place.
std::span<const LintRule> LintRules();

// Also of the rules that have a name instead of a number (kTimeRule).
const LintRule& RuleOf(int number);
std::string NameOfRule(int number);          // "L2", "time"
int NumberOfRule(std::string_view name);     // The other way. REQUIRES: it is one.

struct LintFinding {
  std::string rule;  // "L2"
  Severity severity = Severity::kWarn;
  std::string table;  // "" for the whole instance.
  std::string detail;
  std::string cure;
};

// With the rule's usual severity, and its cure.
LintFinding FindingOf(int number, std::string table, std::string detail);

bool AnyError(std::span<const LintFinding> findings);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_LINT_FINDING_H_
