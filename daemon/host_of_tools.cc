#include "daemon/host_of_tools.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "daemon/daemon.h"
#include "daemon/logging.h"

namespace tallyd {
namespace {

class DaemonOfTool final : public LocalDaemon {
 public:
  explicit DaemonOfTool(Config config) : daemon_(std::move(config), Duties::kAnswers) {}

  Status Start() {
    if (Status opened = daemon_.Open(); !opened) return opened;
    return daemon_.Start();
  }
  std::string url() const override { return fmt::format("http://127.0.0.1:{}", daemon_.port()); }

 private:
  Daemon daemon_;
};

void LogWarnings(const LogConfig& config) {
  ConfigureLogging(config);
  spdlog::set_level(std::max(spdlog::get_level(), spdlog::level::warn));
}

Result<std::unique_ptr<LocalDaemon>> Serve(const Config& config) {
  Config own = config;
  own.server.listen = {{"127.0.0.1:0", false}};
  own.server.tls = {};
  auto daemon = std::make_unique<DaemonOfTool>(std::move(own));
  if (Status started = daemon->Start(); !started) return started.error();
  return std::unique_ptr<LocalDaemon>(std::move(daemon));
}

}  // namespace

ToolHost HostOfTools() { return {LogWarnings, Serve}; }

}  // namespace tallyd
