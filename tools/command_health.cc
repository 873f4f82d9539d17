// tallyd health: asks /readyz of the daemon that has the configuration.
#include <cstdio>

#include "tools/commands.h"
#include "tools/http_client.h"

namespace tallyd {

int HealthCommand(const CommandLine& line, const ToolHost& host) {
  constexpr int64_t kPatienceUs = 5 * kUsPerSecond;
  const std::optional<Config> config = LoadForCommand(line.config, host);
  if (!config) return kMisused;
  const Result<HttpTarget> daemon = TargetOf(config->server);
  if (!daemon) return Refused("health", daemon.error());
  HttpQuestion question{"GET", "/readyz", {}, {}};
  question.patience_us = kPatienceUs;
  const Result<HttpAnswer> answer = Ask(*daemon, question);
  if (!answer) return Refused("health", answer.error());
  std::printf("%s: %s\n", UrlOf(*daemon).c_str(),
              answer->status == kHttpOk ? "ready" : "not ready");
  return answer->status == kHttpOk ? 0 : kFailed;
}

}  // namespace tallyd
