// Findings of lint as JSON: those of the command line, of GET /v1/lint and of /v1/status alike.
#ifndef TALLYD_API_LINT_FINDINGS_JSON_H_
#define TALLYD_API_LINT_FINDINGS_JSON_H_

#include <span>

#include "config/lint/finding.h"
#include "ingest/text/json.h"

namespace tallyd {

// A list of {"rule", "severity", "table", "detail", "cure"}, the first `most` of them.
Json JsonOfFindings(std::span<const LintFinding> findings, size_t most = SIZE_MAX);

}  // namespace tallyd

#endif  // TALLYD_API_LINT_FINDINGS_JSON_H_
