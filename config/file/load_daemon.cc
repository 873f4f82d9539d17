// [server], [storage], [log]: what the daemon itself needs.
#include <charconv>
#include <string>

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

void CheckListen(const TomlReader& server, ServerConfig* filled) {
  const std::string& listen = filled->listen;
  const size_t colon = listen.rfind(':');
  unsigned port = 0;
  const char* const end = listen.data() + listen.size();
  const bool has_host = colon != listen.npos && colon > 0;
  const char* const digits = has_host ? listen.data() + colon + 1 : end;
  const auto [rest, ec] = std::from_chars(digits, end, port);
  if (!has_host || digits == end || ec != std::errc() || rest != end || port > 65'535) {
    server.Mistake("listen", "\"" + listen +
                                 "\" is no address; accepted: HOST:PORT, as \"127.0.0.1:8780\" or "
                                 "\"[::1]:8780\"; port 0 takes a free one");
    return;
  }
  if (!IsLoopbackHost(listen.substr(0, colon))) {
    server.Mistake("listen",
                   "\"" + listen +
                       "\" is not a loopback address: beyond loopback it needs tokens and "
                       "TLS, which this version does not have; accepted: 127.0.0.0/8, "
                       "[::1], localhost");
  }
}

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

void CheckEngine(const TomlReader& storage, StorageConfig* filled) {
  if (filled->engine == "leveldb") return;
  storage.Mistake("engine", filled->engine == "bigtable"
                                ? "the engine \"bigtable\" is not in this version; accepted: "
                                  "leveldb"
                                : "\"" + filled->engine + "\" is unknown; accepted: leveldb");
}

void CheckPath(const TomlReader& storage, StorageConfig* filled) {
  CheckPathText(storage, "path", filled->path);
}

void CheckBackupDir(const TomlReader& storage, StorageConfig* filled) {
  CheckPathText(storage, "backup_dir", filled->backup_dir);
}

void ReadServer(TomlReader server, ServerConfig* config) {
  ReadKeys(&server, config);
  CheckBodyMemory(server, *config);
  server.Finish();
}

void ReadStorage(TomlReader storage, StorageConfig* config) {
  ReadKeys(&storage, config);
  CheckReserve(storage, *config);
  storage.Finish();
}

void ReadLog(TomlReader log, LogConfig* config) {
  ReadKeys(&log, config);
  log.Finish();
}

}  // namespace tallyd
