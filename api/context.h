// What handlers work with. Owned by the daemon; handlers get a reference. They give to whom they
// call in service/ what it needs, and not this.
#ifndef TALLYD_API_CONTEXT_H_
#define TALLYD_API_CONTEXT_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/cors.h"
#include "api/metrics/metrics.h"
#include "api/metrics/table_gauges.h"
#include "config/file/config.h"
#include "ingest/hold/held_counters.h"
#include "ingest/times/arrivals.h"
#include "service/access/failed_logins.h"
#include "service/access/live_tokens.h"
#include "service/access/schema_view.h"
#include "service/heat/heat_map.h"
#include "service/helpers.h"
#include "service/idempotency/keys.h"
#include "service/limits/body_budget.h"
#include "service/limits/query_memory.h"
#include "service/limits/row_sizes.h"
#include "service/live_schema.h"
#include "service/metrics/rejects.h"
#include "service/jobs/jobs.h"
#include "service/read_parts.h"
#include "service/removal/removal_parts.h"
#include "service/write/writer.h"
#include "storage/store.h"

namespace tallyd {

// What a reload took away, and what will be refused by what it brought.
struct Reloaded {
  std::vector<std::string> streams;
  std::vector<std::string> tables;    // They keep their rows, as orphans.
  std::vector<std::string> warnings;  // Of fields that an aggregate family cannot take.
};

struct ApiContext {
  ApiContext(Store& the_store, const Clock& the_clock, ApiMetrics& the_metrics,
             prometheus::Registry& the_registry, const ServerConfig& server_config,
             size_t helper_threads, JobOptions job_options)
      : store(the_store),
        clock(the_clock),
        metrics(the_metrics),
        registry(the_registry),
        server(server_config),
        rejects(the_registry),
        helpers(helper_threads),
        cors(server_config.cors),
        query_memory(server_config.query_memory),
        bodies(server_config.BodyMemory()),
        keys(&the_store, &the_clock),
        arrivals(&the_store),
        writer({the_store, the_clock, live_schema, the_metrics, heat, row_sizes, counters,
                arrivals, schema_views}),
        jobs({the_store, the_clock, the_registry, live_schema, writer},
             std::move(job_options)) {}
  ApiContext(const ApiContext&) = delete;
  ApiContext& operator=(const ApiContext&) = delete;

  Store& store;
  const Clock& clock;
  ApiMetrics& metrics;
  prometheus::Registry& registry;
  const ServerConfig& server;
  Rejects rejects;
  LiveTokens tokens;
  FailedLogins failed_logins;
  Helpers helpers;
  CorsOrigins cors;
  QueryMemory query_memory;
  BodyBudget bodies;
  TableGauges table_gauges;
  HeldCounters counters;
  IdempotencyKeys keys;
  Arrivals arrivals;
  HeatMap heat;
  RowSizes row_sizes;

  LiveSchema live_schema;
  SchemaViews schema_views;
  Writer writer;
  Jobs jobs;

  std::shared_ptr<const SchemaSnapshot> snapshot() const { return live_schema.snapshot(); }
  // Whatever is told to the principal of tables and of rows is told by this.
  Access AccessOf(const Principal& principal) const {
    return schema_views.Of(snapshot(), principal);
  }
  ShapeRegistry& ShapesOf(std::string_view stream) { return live_schema.ShapesOf(stream); }
  ReadParts read_parts() { return {store, clock, metrics, heat, helpers}; }
  RemovalParts removal_parts(const PrincipalPtr& who) {
    return {who, store, clock, writer, jobs.nightly, jobs.restorer};
  }

  // How many principals share what there is; from the start on and after each reload.
  void SetPrincipals(size_t count) {
    query_memory.SetPrincipals(count);
    bodies.SetPrincipals(count);
  }

  // Why it should be asked nothing now, in words that anybody may read; empty: it is ready.
  std::string_view WhyNotReady() {
    if (starting) return "it waits for its store";
    if (!ready) return "it starts or stops";
    if (commits_wait) return "a commit does not end";
    return store.Trouble();
  }

  // The store is elsewhere and away, and no schema is in force yet: what needs one is refused.
  std::atomic<bool> starting{false};
  std::atomic<bool> ready{false};  // Between that and a stop.
  std::atomic<bool> commits_wait{false};  // For so long that this is not ready.
  std::atomic<bool> stopping{false};  // What takes long is to end.
  std::function<Result<Reloaded>()> reload;  // Set by the daemon.
  std::string version;
  TimeUs started = 0;
};

}  // namespace tallyd

#endif  // TALLYD_API_CONTEXT_H_
