// Findings of lint and estimates as text for people, and estimates as JSON.
#ifndef TALLYD_TOOLS_LINT_TEXT_H_
#define TALLYD_TOOLS_LINT_TEXT_H_

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "config/lint/estimate.h"
#include "config/lint/finding.h"

namespace tallyd {

// "1 error, 2 warnings": how many of each there are; "nothing found".
std::string CountsText(std::span<const LintFinding> findings);
// The counts, a table of the findings, and beneath it the cure of each rule.
std::string LintText(std::span<const LintFinding> findings);

std::string EstimateText(std::span<const TableEstimate> estimates);
nlohmann::ordered_json EstimateJson(std::span<const TableEstimate> estimates);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_LINT_TEXT_H_
