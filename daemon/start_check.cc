#include "daemon/start_check.h"

#include <spdlog/spdlog.h>

#include <string>

#include "config/file/exposure.h"

namespace tallyd {

Result<TlsContextPtr> LoadTls(const Config& config, const TlsContextPtr& in_force, TimeUs now) {
  if (config.server.tls.empty()) return TlsContextPtr();
  Result<TlsContextPtr> loaded = TlsContext::Load(config.server.tls);
  if (!loaded) return loaded.error().Prefixed(config.file);
  if (in_force && in_force->digest() == (*loaded)->digest()) loaded = in_force;
  if (const std::string doubt = (*loaded)->DoubtAt(now); !doubt.empty()) {
    spdlog::warn("server.tls.cert: {}: clients will refuse it", doubt);
  }
  return loaded;
}

Status CheckListening(const Config& config, std::span<const ListenAddress> listen) {
  const Status safe = CheckExposure(listen, !config.tokens.empty(), config.server.plaintext);
  return safe ? Status() : safe.error().Prefixed(config.file);
}

}  // namespace tallyd
