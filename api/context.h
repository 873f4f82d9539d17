// What handlers work with. Owned by the daemon; handlers get a reference. The schema and what was
// compiled from it is one immutable snapshot that a reload replaces: a request keeps the snapshot
// that it began with.
#ifndef TALLYD_API_CONTEXT_H_
#define TALLYD_API_CONTEXT_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "api/metrics.h"
#include "config/config.h"
#include "ingest/mapper.h"
#include "storage/store.h"

namespace tallyd {

struct SchemaSnapshot {
  std::shared_ptr<const Schema> schema;
  std::map<std::string, std::unique_ptr<Mapper>, std::less<>> mappers;  // By stream.
};

struct ApiContext {
  Store& store;
  const Clock& clock;
  ApiMetrics& metrics;
  prometheus::Registry& registry;
  const ServerConfig& server;

  std::shared_ptr<const SchemaSnapshot> snapshot() const { return std::atomic_load(&snapshot_); }
  void set_snapshot(std::shared_ptr<const SchemaSnapshot> s) {
    std::atomic_store(&snapshot_, std::move(s));
  }

  std::atomic<bool> ready{false};
  std::function<Status()> reload;  // Set by the daemon.
  std::string version;
  TimeUs started = 0;

  std::shared_ptr<const SchemaSnapshot> snapshot_;
};

}  // namespace tallyd

#endif  // TALLYD_API_CONTEXT_H_
