// [server], [storage], [log]: what the daemon itself needs.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "config/file/host.h"
#include "config/file/load.h"
#include "config/file/origin.h"
#include "config/file/read_keys.h"

namespace tallyd {
namespace {

void CheckPathText(const TomlReader& storage, std::string_view key, const std::string& path) {
  if (!path.empty() && path.find('\0') == path.npos) return;
  storage.Mistake(key, "is no path; accepted: a directory, relative to this file or absolute");
}

void ReadTls(TomlReader tls, TlsFiles* files) {
  ReadKeys(&tls, files);
  for (const std::string_view key : {"cert", "key"}) {
    if (!tls.Has(key)) tls.Mistake(key, "is missing; accepted: a file in PEM");
  }
  for (const auto& [key, path] : {std::pair("cert", &files->cert), std::pair("key", &files->key),
                                  std::pair("client_ca", &files->client_ca)}) {
    if (!tls.IsString(key)) continue;
    if (path->empty() || path->find('\0') != path->npos) {
      tls.Mistake(key, "is no path; accepted: a file in PEM, relative to this file or absolute");
    }
  }
  tls.Finish();
}

void CheckTlsIsThere(const TomlReader& server, const ServerConfig& config) {
  const bool speaks = std::ranges::count(config.listen, true, &ListenAddress::tls) > 0;
  if (!speaks || server.Has("tls")) return;
  server.Mistake("listen",
                 "has tls = true, but there is no certificate for it; accepted: with a section "
                 "[server.tls] that has cert and key");
}

void CheckReserve(const TomlReader& storage, const StorageConfig& config) {
  if (config.free_space_floor + config.ballast <= kMaxReserve) return;
  storage.Mistake(storage.Has("ballast") ? "ballast" : "free_space_floor",
                  "free_space_floor and ballast hold back more than 64MiB together; accepted: "
                  "64MiB at most, of both");
}

void CheckBodyMemory(const TomlReader& server, const ServerConfig& config) {
  if (config.BodyMemory() >= kBodiesAtLeast * config.max_body) return;
  server.Mistake("body_memory",
                 "is less than four times max_body, and a body with what it decodes to must fit in "
                 "the half of one token; accepted: at least " +
                     std::to_string(kBodiesAtLeast * config.max_body));
}

}  // namespace

void CheckHosts(const TomlReader& server, ServerConfig* filled) {
  for (const std::string& host : filled->hosts) {
    if (IsHost(host)) continue;
    server.Mistake("hosts", "\"" + host +
                                "\" is no host; accepted: names and addresses without scheme and "
                                "port, as \"tallyd.example.org\", \"10.0.0.7\", "
                                "\"[2001:db8::7]\"");
  }
}

void CheckCors(const TomlReader& server, ServerConfig* filled) {
  for (const std::string& origin : filled->cors) {
    const std::string mistake = OriginMistake(origin);
    if (mistake.empty()) continue;
    server.Mistake("cors", "\"" + origin + "\" " + mistake +
                               "; accepted: origins as browsers send them, SCHEME://HOST or "
                               "SCHEME://HOST:PORT where the port is not the scheme's own, as "
                               "\"https://grafana.example.org\", \"http://localhost:3000\"");
  }
}

void CheckPath(const TomlReader& storage, StorageConfig* filled) {
  CheckPathText(storage, "path", filled->path);
}

void CheckBackupDir(const TomlReader& storage, StorageConfig* filled) {
  CheckPathText(storage, "backup_dir", filled->backup_dir);
}

void ReadServer(TomlReader server, ServerConfig* config) {
  ReadKeys(&server, config);
  for (TomlReader& tls : server.Table("tls")) ReadTls(tls, &config->tls);
  CheckTlsIsThere(server, *config);
  CheckBodyMemory(server, *config);
  server.Finish();
}

void ReadStorage(TomlReader storage, const std::string& file, StorageConfig* config) {
  ReadKeys(&storage, config);
  for (TomlReader& bigtable : storage.Table("bigtable")) {
    ReadBigtable(bigtable, file, &config->bigtable);
  }
  CheckReserve(storage, *config);
  CheckBigtable(storage, config);
  storage.Finish();
}

void ReadLog(TomlReader log, LogConfig* config) {
  ReadKeys(&log, config);
  log.Finish();
}

}  // namespace tallyd
