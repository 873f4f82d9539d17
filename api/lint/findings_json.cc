#include "api/lint/findings_json.h"

#include <algorithm>

namespace tallyd {

Json JsonOfFindings(std::span<const LintFinding> findings, size_t most) {
  Json json = Json::array();
  for (const LintFinding& finding : findings.first(std::min(most, findings.size()))) {
    json.push_back({{"rule", finding.rule},
                    {"severity", ToString(finding.severity)},
                    {"table", finding.table},
                    {"detail", JsonOfText(finding.detail)},
                    {"cure", finding.cure}});
  }
  return json;
}

}  // namespace tallyd
