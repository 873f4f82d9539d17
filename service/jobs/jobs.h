// Jobs: what the daemon does to rows behind everything else: nightly tables, tables that lack
// something, latest rows that come back after a removal. What they write goes through the writer.
//
//   Jobs jobs(parts);
//   jobs.Open();      // The store is open, a schema is in force.
//   jobs.Start();     // A thread each. Without it they do what they are asked for.
//   jobs.Stop();      // Idempotent.
//
// What Parts name outlives it.
#ifndef TALLYD_SERVICE_JOBS_JOBS_H_
#define TALLYD_SERVICE_JOBS_JOBS_H_

#include <prometheus/registry.h>

#include <cstdint>
#include <functional>

#include "config/values/result.h"
#include "config/values/time.h"
#include "service/fill/filler.h"
#include "service/live_schema.h"
#include "service/nightly/nightly_tables.h"
#include "service/removal/latest_restorer.h"
#include "service/write/writer.h"
#include "storage/store.h"

namespace tallyd {

struct JobOptions {
  double cpu = 1;                    // Of one core, for nightly tables, and for filling.
  int64_t slice_us = kUsPerDay;      // Of time, as the store keeps it apart.
  std::function<Status()> refresh;   // Puts the schema in force with the nightly tables of now.
  std::function<void()> before_commit = {};  // For tests: before latest rows are committed.
};

class Jobs {
 public:
  struct Parts {
    Store& store;
    const Clock& clock;
    prometheus::Registry& registry;
    const LiveSchema& live_schema;
    Writer& writer;
  };

  Jobs(const Parts& parts, JobOptions options)
      : nightly({&parts.store, &parts.clock, &parts.registry, &parts.writer, options.cpu,
                 std::move(options.refresh)}),
        filler({&parts.store, &parts.clock, &parts.live_schema, &parts.writer, &parts.registry,
                options.cpu, options.slice_us}),
        restorer({&parts.store, &parts.clock, &parts.live_schema, &parts.writer,
                  LatestRestorer::Parts().slice_us, std::move(options.before_commit)}) {}
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  Status Open() {
    if (Status opened = filler.Open(); !opened) return opened;
    return restorer.Open();
  }
  void Start() {
    nightly.Start();
    filler.Start();
    restorer.Start();
  }
  void Stop() {
    nightly.Stop();
    filler.Stop();
    restorer.Stop();
  }

  NightlyTables nightly;  // Opened on its own, before the first schema is in force.
  Filler filler;
  LatestRestorer restorer;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_JOBS_JOBS_H_
