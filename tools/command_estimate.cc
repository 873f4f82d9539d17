// tallyd estimate: what the tables of a configuration would be written and hold.
#include <cstdio>

#include "config/lint/estimate.h"
#include "tools/commands.h"
#include "tools/lint_text.h"
#include "tools/report_text.h"

namespace tallyd {
namespace {

int Misused(const std::string& why) {
  std::fprintf(stderr, "tallyd estimate: %s\n", why.c_str());
  return kMisused;
}

}  // namespace

int EstimateCommand(const CommandLine& line, const ToolHost& host) {
  EstimateInput input{line.estimate.entities, std::nullopt, line.estimate.fields};
  if (!line.estimate.every.empty()) {
    const Result<int64_t> every = ParseDuration(line.estimate.every);
    if (!every) return Misused("--every: " + every.error().message());
    input.every_us = *every;
  }
  const std::optional<Config> config = LoadForCommand(line.config, host);
  if (!config) return kMisused;
  const Result<std::vector<TableEstimate>> estimates = EstimateTables(*config->schema, input);
  if (!estimates) return Misused(estimates.error().message());
  const std::string text =
      line.format == "json" ? JsonText(EstimateJson(*estimates)) : EstimateText(*estimates);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace tallyd
