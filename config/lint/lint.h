// The linter: what is unwise in a schema that the loader takes, as findings under numbered rules
// (config/lint/finding.h, docs/lint.md). It looks at the file alone, or also at what the store
// knows of the data; a finding never keeps anything from starting.
//
//   for (const LintFinding& finding : Lint(*config.schema, ScopeFieldsOf(config.tokens))) ...
//
// Pure functions, for any thread.
#ifndef TALLYD_CONFIG_LINT_LINT_H_
#define TALLYD_CONFIG_LINT_LINT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/access/scope_fields.h"
#include "config/lint/finding.h"
#include "config/schema/schema.h"

namespace tallyd {

// What the data tells of a field of a stream. `distinct` is exact, or absent; what the file says
// comes first.
struct LiveField {
  bool is_text = false;  // Some value was a string.
  bool is_integer = false;
  bool is_bytes = false;
  bool is_float = false;
  bool is_bool = false;
  bool is_label = false;  // Some event had it as a label; then it is text, too.
  bool looks_like_hash = false;
  bool looks_sequential = false;
  std::optional<uint64_t> distinct;
};

// What it tells of a table: the largest value that was found, and in which column; how many events
// are known to have fallen on cells of others.
struct LiveTable {
  uint64_t value_bytes = 0;
  std::string column;  // "FAMILY:QUALIFIER"
  uint64_t merged_events = 0;
};

struct LiveFacts {
  std::map<std::string, std::map<std::string, LiveField>> fields;  // By stream and field.
  std::map<std::string, LiveTable> tables;
};

// By table in the file's order, then what is of the whole instance; each table's by rule.
// `scope_fields`: of the tokens that are in force with the schema. `live` may be null.
std::vector<LintFinding> Lint(const Schema& schema, const ScopeFields& scope_fields,
                              const LiveFacts* live = nullptr);
// S35 alone: a part of what Lint finds.
std::vector<LintFinding> LintScopes(const Schema& schema, const ScopeFields& scope_fields);

// L33 alone, by the types of fields that `live` knows and the file tells.
std::vector<LintFinding> LintInputs(const Schema& schema, const LiveFacts* live = nullptr);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_LINT_LINT_H_
