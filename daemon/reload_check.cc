#include "daemon/reload_check.h"

#include <fmt/format.h>

#include <string>

namespace tallyd {

namespace {

class ChangedKeys {
 public:
  template <class T>
  void Compare(const char* key, const T& in_force, const T& loaded) {
    if (in_force == loaded) return;
    if (!keys_.empty()) keys_ += ", ";
    keys_ += key;
  }
  const std::string& keys() const { return keys_; }

 private:
  std::string keys_;
};

void CompareServer(const ServerConfig& a, const ServerConfig& b, ChangedKeys* found) {
  found->Compare("server.listen", a.listen, b.listen);
  found->Compare("server.hosts", a.hosts, b.hosts);
  found->Compare("server.plaintext", a.plaintext, b.plaintext);
  found->Compare("server.threads", a.threads, b.threads);
  found->Compare("server.query_threads", a.query_threads, b.query_threads);
  found->Compare("server.max_body", a.max_body, b.max_body);
  found->Compare("server.query_memory", a.query_memory, b.query_memory);
  found->Compare("server.max_connections", a.max_connections, b.max_connections);
  found->Compare("server.header_timeout", a.header_timeout_us, b.header_timeout_us);
  found->Compare("server.idle_timeout", a.idle_timeout_us, b.idle_timeout_us);
  found->Compare("server.body_timeout", a.body_timeout_us, b.body_timeout_us);
  found->Compare("server.body_min_rate", a.body_min_rate, b.body_min_rate);
  found->Compare("server.write_timeout", a.write_timeout_us, b.write_timeout_us);
  found->Compare("server.drain_timeout", a.drain_timeout_us, b.drain_timeout_us);
}

void CompareStorage(const StorageConfig& a, const StorageConfig& b, ChangedKeys* found) {
  found->Compare("storage.engine", a.engine, b.engine);
  found->Compare("storage.path", a.path, b.path);
  found->Compare("storage.backup_dir", a.backup_dir, b.backup_dir);
  found->Compare("storage.sync", a.sync, b.sync);
  found->Compare("storage.sync_interval", a.sync_interval_us, b.sync_interval_us);
  found->Compare("storage.sync_interval", a.sync_interval_us, b.sync_interval_us);
  found->Compare("storage.write_buffer", a.write_buffer, b.write_buffer);
  found->Compare("storage.seal_window", a.seal_window_us, b.seal_window_us);
  found->Compare("storage.purge_deadline", a.purge_deadline_us, b.purge_deadline_us);
  found->Compare("storage.seal_delay", a.seal_delay_us, b.seal_delay_us);
  found->Compare("storage.seal_cpu", a.seal_cpu, b.seal_cpu);
  found->Compare("storage.block_cache", a.block_cache, b.block_cache);
  found->Compare("storage.max_file_size", a.max_file_size, b.max_file_size);
  found->Compare("storage.bloom_bits", a.bloom_bits, b.bloom_bits);
  found->Compare("storage.queue_bytes", a.queue_bytes, b.queue_bytes);
  found->Compare("storage.group_bytes", a.group_bytes, b.group_bytes);
  found->Compare("storage.free_space_floor", a.free_space_floor, b.free_space_floor);
  found->Compare("storage.ballast", a.ballast, b.ballast);
}

}  // namespace

Status CheckReload(const Config& in_force, const Config& loaded) {
  ChangedKeys found;
  CompareServer(in_force.server, loaded.server, &found);
  CompareStorage(in_force.storage, loaded.storage, &found);
  if (found.keys().empty() && loaded.schema->tables.empty()) {
    return Error(ErrorCode::kConflict,
                 fmt::format("{} makes no table: it may have been cut short", loaded.file));
  }
  if (found.keys().empty()) return {};
  return Error(
      ErrorCode::kConflict,
      fmt::format("{}: needs a restart; a reload applies streams, tables, ingest and log",
                  found.keys()));
}

}  // namespace tallyd
