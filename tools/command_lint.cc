// tallyd lint: what is unwise in the tables of a configuration, found without a daemon or data.
#include <cstdio>

#include "api/lint/findings_json.h"
#include "config/file/lenient_config.h"
#include "config/lint/lint.h"
#include "tools/commands.h"
#include "tools/lint_text.h"
#include "tools/report_text.h"

namespace tallyd {

int LintCommand(const CommandLine& line, const ToolHost&) {
  const Result<LenientConfig> loaded = LoadConfigLeniently(line.config);
  if (!loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message().c_str());
    return kMisused;
  }
  std::vector<LintFinding> findings;
  for (const RuledMistake& mistake : loaded->ruled) {
    findings.push_back(FindingOf(mistake.rule, mistake.table, mistake.text));
    // Nothing starts with it, whatever else the rule finds is called.
    findings.back().severity = Severity::kError;
  }
  const Config& config = loaded->config;
  for (LintFinding& finding : Lint(*config.schema, ScopeFieldsOf(config.tokens))) {
    findings.push_back(std::move(finding));
  }
  const std::string text = line.format == "json"
                               ? JsonText(Json{{"findings", JsonOfFindings(findings)}})
                               : line.config + ": " + LintText(findings);
  std::fputs(text.c_str(), stdout);
  return AnyError(findings) ? kFailed : 0;
}

}  // namespace tallyd
