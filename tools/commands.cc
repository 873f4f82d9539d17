#include "tools/commands.h"

#include <cstdio>

namespace tallyd {

std::optional<Config> LoadForCommand(const std::string& file, const ToolHost& host) {
  Result<Config> config = LoadConfig(file);
  if (!config) {
    std::fprintf(stderr, "%s\n", config.error().message().c_str());
    return std::nullopt;
  }
  host.log_warnings(config->log);
  return std::move(*config);
}

int Refused(const char* command, const Error& error) {
  std::fprintf(stderr, "tallyd %s: %s\n", command, error.message().c_str());
  return kFailed;
}

}  // namespace tallyd
