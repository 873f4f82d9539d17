// S7: column rules of which only the values and the names of fields that come tell whether what
// they make is read back as it came (config/columns/name_doubts.h).
#include "config/lint/rule_groups.h"
#include "config/columns/name_doubts.h"

namespace tallyd {

void LintNames(const LintSubject& subject, LintFindings* found) {
  for (const NameDoubt& doubt : NameDoubtsOf(subject.table)) {
    found->AddSchema(7, subject.table.name, doubt.why);
  }
}

}  // namespace tallyd
