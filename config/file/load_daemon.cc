// [server], [storage], [log]: what the daemon itself needs.
#include <charconv>

#include "config/file/host.h"
#include "config/file/load.h"
#include "config/values/time.h"

namespace tallyd {
namespace {

constexpr uint64_t kKiB = 1u << 10;
constexpr uint64_t kMiB = 1u << 20;
constexpr uint64_t kGiB = 1u << 30;

// Long enough for any wait; short enough that a deadline never overflows a clock of nanoseconds.
constexpr Bounds<int64_t> kTimeoutBounds = {kUsPerMs, kUsPerDay};

void CheckListen(const TomlReader& server, const std::string& listen) {
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

void CheckHosts(const TomlReader& server, const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    if (IsHost(host)) continue;
    server.Mistake("hosts", "\"" + host +
                                "\" is no host; accepted: names and addresses without scheme and "
                                "port, as \"tallyd.example.org\", \"10.0.0.7\", "
                                "\"[2001:db8::7]\"");
  }
}

}  // namespace

void ReadServer(TomlReader server, ServerConfig* config) {
  if (server.String("listen", &config->listen)) CheckListen(server, config->listen);
  if (server.Strings("hosts", &config->hosts)) CheckHosts(server, config->hosts);
  server.Bool("plaintext", &config->plaintext);
  server.Integer("threads", Bounds<uint32_t>{0, 1024}, &config->threads);
  server.Integer("query_threads", Bounds<uint32_t>{0, 1024}, &config->query_threads);
  server.Size("max_body", {kKiB, kGiB}, &config->max_body);
  server.Size("query_memory", {kMiB, 1024 * kGiB}, &config->query_memory);
  server.Integer("max_connections", Bounds<uint32_t>{1, 1'000'000}, &config->max_connections);
  server.Duration("header_timeout", kTimeoutBounds, &config->header_timeout_us);
  server.Duration("idle_timeout", kTimeoutBounds, &config->idle_timeout_us);
  server.Duration("body_timeout", kTimeoutBounds, &config->body_timeout_us);
  server.Size("body_min_rate", {1, kGiB}, &config->body_min_rate);
  server.Duration("write_timeout", kTimeoutBounds, &config->write_timeout_us);
  server.Duration("drain_timeout", kTimeoutBounds, &config->drain_timeout_us);
  server.NotBuilt("tls", "TLS");
  server.Finish();
}

void ReadStorage(TomlReader storage, StorageConfig* config) {
  if (storage.String("engine", &config->engine) && config->engine != "leveldb") {
    storage.Mistake("engine", config->engine == "bigtable"
                                  ? "the engine \"bigtable\" is not in this version; accepted: "
                                    "leveldb"
                                  : "\"" + config->engine + "\" is unknown; accepted: leveldb");
  }
  for (const char* key : {"project", "instance", "endpoint"}) {
    storage.NotBuilt(key, "the engine \"bigtable\", whose key this is,");
  }
  if (storage.String("path", &config->path) &&
      (config->path.empty() || config->path.find('\0') != config->path.npos)) {
    storage.Mistake("path", "is no path; accepted: a directory, relative to this file or absolute");
  }
  if (storage.String("backup_dir", &config->backup_dir) &&
      (config->backup_dir.empty() || config->backup_dir.find('\0') != std::string::npos)) {
    storage.Mistake("backup_dir",
                    "is no path; accepted: a directory, relative to this file or absolute");
  }
  storage.Choice<Sync>("sync", {{"always", Sync::kAlways}, {"interval", Sync::kInterval}},
                       &config->sync);
  storage.Duration("sync_interval", {kUsPerMs, 3600 * kUsPerSecond}, &config->sync_interval_us);
  storage.Size("write_buffer", {64 * kKiB, kGiB}, &config->write_buffer);
  storage.Duration("seal_window", {60 * kUsPerSecond, 3650 * kUsPerDay}, &config->seal_window_us);
  storage.Duration("purge_deadline", {kUsPerSecond, 365 * kUsPerDay}, &config->purge_deadline_us);
  storage.Duration("seal_delay", {kUsPerMs, 30 * kUsPerDay}, &config->seal_delay_us);
  if (storage.PositiveNumber("seal_cpu", &config->seal_cpu) && config->seal_cpu > 1) {
    storage.Mistake("seal_cpu", "is more than one core; accepted: a number above 0, at most 1");
  }
  storage.Size("block_cache", {0, 1024 * kGiB}, &config->block_cache);
  storage.Size("max_file_size", {kMiB, kGiB}, &config->max_file_size);
  storage.Integer("bloom_bits", Bounds<uint32_t>{0, 64}, &config->bloom_bits);
  storage.Size("queue_bytes", {kMiB, 64 * kGiB}, &config->queue_bytes);
  storage.Size("group_bytes", {64 * kKiB, kGiB}, &config->group_bytes);
  storage.Size("free_space_floor", {0, kMaxReserve}, &config->free_space_floor);
  storage.Size("ballast", {0, kMaxReserve}, &config->ballast);
  if (config->free_space_floor <= kMaxReserve && config->ballast <= kMaxReserve &&
      config->free_space_floor + config->ballast > kMaxReserve) {
    storage.Mistake(storage.Has("ballast") ? "ballast" : "free_space_floor",
                    "free_space_floor and ballast hold back more than 64MiB together; accepted: "
                    "64MiB at most, of both");
  }
  storage.Finish();
}

void ReadLog(TomlReader log, LogConfig* config) {
  const auto names = [](std::initializer_list<const char*> list) {
    std::vector<std::pair<std::string, std::string>> choices;
    for (const char* name : list) choices.emplace_back(name, name);
    return choices;
  };
  log.Choice("level", names({"trace", "debug", "info", "warn", "error"}), &config->level);
  log.Choice("format", names({"text", "json"}), &config->format);
  log.Finish();
}

}  // namespace tallyd
