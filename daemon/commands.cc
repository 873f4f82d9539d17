#include "daemon/commands.h"

#include <spdlog/spdlog.h>

#include <cstdio>

#include "config/lint/schema_doubts.h"
#include "daemon/logging.h"

namespace tallyd {

std::optional<Config> LoadForCommand(const CommandLine& line) {
  Result<Config> config = LoadConfig(line.config);
  if (!config) {
    std::fprintf(stderr, "%s\n", config.error().message().c_str());
    return std::nullopt;
  }
  ConfigureLogging(config->log);
  spdlog::set_level(std::max(spdlog::get_level(), spdlog::level::warn));
  return std::move(*config);
}

int Refused(const char* command, const Error& error) {
  std::fprintf(stderr, "tallyd %s: %s\n", command, error.message().c_str());
  return kFailed;
}

int CheckCommand(const CommandLine& line) {
  const std::optional<Config> config = LoadForCommand(line);
  if (!config) return kMisused;
  const std::vector<std::string> doubts = FindDoubts(*config->schema);
  for (const std::string& doubt : doubts) {
    std::fprintf(stderr, "%s: %s\n", line.config.c_str(), doubt.c_str());
  }
  if (!doubts.empty()) return kMisused;
  std::printf("%s: ok, %zu streams, %zu tables\n", line.config.c_str(),
              config->schema->streams.size(), config->schema->tables.size());
  return 0;
}

}  // namespace tallyd
