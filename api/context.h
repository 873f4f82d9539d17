// What handlers work with. Owned by the daemon; handlers get a reference. The schema and what was
// compiled from it is one immutable snapshot that a reload replaces: a request keeps the snapshot
// that it began with.
#ifndef TALLYD_API_CONTEXT_H_
#define TALLYD_API_CONTEXT_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/metrics/metrics.h"
#include "config/file/config.h"
#include "config/lint/finding.h"
#include "ingest/hold/held_counters.h"
#include "ingest/map/mapper.h"
#include "ingest/nightly/nightly_tables.h"
#include "ingest/times/arrivals.h"
#include "service/heat/heat_map.h"
#include "service/helpers.h"
#include "service/idempotency/keys.h"
#include "service/limits/query_memory.h"
#include "service/limits/row_sizes.h"
#include "service/metrics/rejects.h"
#include "storage/store.h"

namespace tallyd {

class Filler;

struct SchemaSnapshot {
  std::shared_ptr<const Schema> schema;
  std::map<std::string, std::unique_ptr<Mapper>, std::less<>> mappers;  // By stream.
  std::vector<LintFinding> findings;  // What lint finds in the schema, without the data.
};

// The stream of that name; kNotFound names those that there are, or the nearest.
Result<const Stream*> FindStream(const Schema& schema, std::string_view name);

// The shapes of every stream that was ever configured: they outlive reloads, as connections keep
// pointers to them.
class StreamShapes {
 public:
  ShapeRegistry& Of(std::string_view stream);  // Thread-safe.

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<ShapeRegistry>, std::less<>> registries_;
};

// What a reload took away.
struct Reloaded {
  std::vector<std::string> streams;
  std::vector<std::string> tables;  // They keep their rows, as orphans.
};

struct ApiContext {
  ApiContext(Store& the_store, const Clock& the_clock, ApiMetrics& the_metrics,
             prometheus::Registry& the_registry, const ServerConfig& server_config,
             size_t helper_threads)
      : store(the_store),
        clock(the_clock),
        metrics(the_metrics),
        registry(the_registry),
        server(server_config),
        rejects(the_registry),
        helpers(helper_threads),
        query_memory(server_config.query_memory),
        keys(&the_store, &the_clock),
        arrivals(&the_store) {}
  ApiContext(const ApiContext&) = delete;
  ApiContext& operator=(const ApiContext&) = delete;

  Store& store;
  const Clock& clock;
  ApiMetrics& metrics;
  prometheus::Registry& registry;
  const ServerConfig& server;
  Rejects rejects;
  Helpers helpers;
  QueryMemory query_memory;
  HeldCounters counters;
  IdempotencyKeys keys;
  Arrivals arrivals;
  HeatMap heat;
  RowSizes row_sizes;

  std::shared_ptr<const SchemaSnapshot> snapshot() const { return std::atomic_load(&snapshot_); }
  void set_snapshot(std::shared_ptr<const SchemaSnapshot> s);

  ShapeRegistry& ShapesOf(std::string_view stream) { return shapes.Of(stream); }

  StreamShapes shapes;
  std::atomic<bool> ready{false};
  std::atomic<bool> stopping{false};  // What takes long is to end.
  std::function<Result<Reloaded>()> reload;  // Set by the daemon.
  NightlyTables* nightly = nullptr;   // The same. Null: there are none.
  Filler* filler = nullptr;           // The same. Null: no table is filled.
  std::string version;
  TimeUs started = 0;

  std::shared_ptr<const SchemaSnapshot> snapshot_;
};

}  // namespace tallyd

#endif  // TALLYD_API_CONTEXT_H_
