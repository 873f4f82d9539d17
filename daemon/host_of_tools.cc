#include "daemon/host_of_tools.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "daemon/daemon.h"
#include "daemon/logging.h"
#include "tools/new_token.h"
#include "service/access/token_digest.h"

namespace tallyd {
namespace {

class DaemonOfTool final : public LocalDaemon {
 public:
  DaemonOfTool(Config config, std::string token)
      : token_(std::move(token)), daemon_(std::move(config), Duties::kAnswers) {}

  Status Start() {
    if (Status opened = daemon_.Open(); !opened) return opened;
    return daemon_.Start();
  }
  std::string url() const override { return fmt::format("http://127.0.0.1:{}", daemon_.port()); }
  std::string token() const override { return token_; }

 private:
  const std::string token_;
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
  Result<std::string> token = MakeToken();
  if (!token) return token.error();
  // Its Idempotency-Keys are nobody's, so that whoever goes on with what the tool began finds them.
  own.tokens = {{/*name=*/"", HexOf(*DigestOf(*token)), {Role::kAdmin}, {}}};
  auto daemon = std::make_unique<DaemonOfTool>(std::move(own), std::move(*token));
  if (Status started = daemon->Start(); !started) return started.error();
  return std::unique_ptr<LocalDaemon>(std::move(daemon));
}

}  // namespace

ToolHost HostOfTools() { return {LogWarnings, Serve}; }

}  // namespace tallyd
