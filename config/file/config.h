// The configuration file, typed and complete (docs/configuration.md). Every key has a default here
// or is required; sizes are bytes, times microseconds. LoadConfig reads a TOML file; every mistake
// names file, line, key and what is accepted.
#ifndef TALLYD_CONFIG_FILE_CONFIG_H_
#define TALLYD_CONFIG_FILE_CONFIG_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/access/token_config.h"
#include "config/schema/schema.h"
#include "config/values/result.h"

namespace tallyd {

// A body and what it decodes to fit in the half that one of several tokens may hold.
inline constexpr uint64_t kBodiesAtLeast = 4;

// Where connections are taken: HOST:PORT, port 0 takes a free one.
struct ListenAddress {
  std::string at;
  bool tls = false;

  friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

// The files of [server.tls], in PEM; made absolute by LoadConfig, as storage.path.
struct TlsFiles {
  std::string cert;       // The server's own, and what leads from it to an authority.
  std::string key;        // Its private key.
  std::string client_ca;  // Whose certificates clients must have. Empty: they need none.

  bool empty() const { return cert.empty() && key.empty() && client_ca.empty(); }
  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

struct ServerConfig {
  // Never empty. What is beyond loopback needs tokens and TLS (config/file/exposure.h).
  std::vector<ListenAddress> listen = {{"127.0.0.1:8780", false}};
  TlsFiles tls;
  std::vector<std::string> hosts;  // Names beside loopback's that requests may give.
  std::vector<std::string> cors;   // Origins whose pages may call, as browsers send them.
  bool plaintext = false;
  uint32_t threads = 0;           // I/O threads; 0: one per core.
  uint32_t query_threads = 0;     // Scans; 0: one per core, at least two.
  uint64_t max_body = 32u << 20;  // Decoded; the wire size is bounded by it, too.
  // What all reads that run may hold together, answers that wait for their readers included.
  uint64_t query_memory = 256u << 20;
  // What the bodies of all requests may hold together until they are in the queue of the store.
  // Absent: the greater of 128 MiB and kBodiesAtLeast of max_body.
  std::optional<uint64_t> body_memory;
  uint32_t max_connections = 10'000;
  // From the first byte of a request to the end of its header.
  int64_t header_timeout_us = 10'000'000;
  int64_t idle_timeout_us = 60'000'000;   // Between requests.
  int64_t body_timeout_us = 30'000'000;   // Plus the time that body_min_rate grants.
  uint64_t body_min_rate = 16u << 10;     // Bytes per second that a sender must reach.
  int64_t write_timeout_us = 30'000'000;  // Per chunk of an answer.
  int64_t drain_timeout_us = 10'000'000;  // SIGTERM: how long requests may take to finish.

  uint64_t BodyMemory() const {
    return body_memory.value_or(std::max<uint64_t>(128u << 20, kBodiesAtLeast * max_body));
  }
};

enum class Sync : uint8_t { kAlways, kInterval };

// The reserve against a full disk: `ballast` and the free-space floor together are no more.
inline constexpr uint64_t kMaxReserve = 64u << 20;

// What `storage.engine` may be; who opens each is told in storage/engines.cc.
inline constexpr std::string_view kEngines[] = {"leveldb", "bigtable"};

// [storage.bigtable]: where tables are with engine = "bigtable", and how they are reached.
struct BigtableConfig {
  std::string project;
  std::string instance;
  // HOST:PORT of an emulator: no TLS, no credentials. Empty: the service. The environment's
  // BIGTABLE_EMULATOR_HOST stands in where the file says nothing.
  std::string emulator;
  std::string endpoint;     // HOST:PORT for data and admin; empty: the service's own.
  std::string credentials;  // A service account's key, made absolute; empty: the environment's.
  std::string app_profile = "default";
  std::string prefix;  // Before each table's name.
  // Of the file; beside its schema, of which it is a part from then on (Schema).
  std::optional<uint64_t> generation;
  bool create = true;                // Missing tables and families are made, GC rules set.
  int64_t deadline_us = 30'000'000;  // Of a request, with all its retries.
  int64_t attempt_us = 10'000'000;   // Of one try of it; of a stream: between two messages.
  uint32_t channels = 4;             // Connections.
  uint32_t calls = 8;                // MutateRows that one group of batches has under way.
  int64_t poll_us = 2'000'000;       // How often it looks what others noted.
  // A batch is in a journal before its rows are written, and finished from there.
  bool whole_batches = false;
};

struct StorageConfig {
  std::string engine = "leveldb";
  // Whether the rows are in `path`, which is then one process's; elsewhere many may share them.
  bool has_directory() const { return engine != "bigtable"; }
  std::string path = "data";  // Made absolute by LoadConfig, relative to the file.
  // Clients may have backups made below it only; made absolute as `path`. Empty: anywhere.
  std::string backup_dir;
  // kInterval acknowledges before the fsync, which comes within sync_interval.
  Sync sync = Sync::kAlways;
  int64_t sync_interval_us = 1'000'000;
  uint64_t write_buffer = 32u << 20;  // What a head holds before it is sealed.
  uint64_t block_cache = 64u << 20;
  uint64_t max_file_size = 8u << 20;
  uint32_t bloom_bits = 10;
  // Batches that wait for the committer; beyond them 503 with Retry-After is answered.
  uint64_t queue_bytes = 64u << 20;
  uint64_t group_bytes = 4u << 20;             // What one commit takes at most.
  int64_t seal_window_us = 86'400'000'000;     // Column blocks are apart by windows of event time.
  int64_t seal_delay_us = 300'000'000;         // An event waits at most so long to be sealed.
  int64_t purge_deadline_us = 86'400'000'000;  // What a delete hides leaves the disk within this.
  // The share of one core that sealing takes while it is not behind; 0 < seal_cpu <= 1.
  double seal_cpu = 0.5;
  uint64_t free_space_floor = 16u << 20;  // Below it writes are refused with 507.
  uint64_t ballast = 48u << 20;           // Reserve file that is given up when the disk is full.
  BigtableConfig bigtable;
};

struct LogConfig {
  std::string level = "info";   // trace, debug, info, warn, error
  std::string format = "text";  // or "json"
};

struct Config {
  std::string file;  // As given; for messages.
  ServerConfig server;
  StorageConfig storage;
  LogConfig log;
  std::vector<TokenConfig> tokens;  // None: anybody may everything.
  std::shared_ptr<const Schema> schema;
};

// Reads and checks the whole file. The error's message is one line per mistake: "FILE:LINE: KEY:
// what is wrong; what is accepted".
Result<Config> LoadConfig(const std::string& file);
// The same from text; `file` serves messages and relative paths.
Result<Config> ParseConfig(const std::string& text, const std::string& file);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_FILE_CONFIG_H_
