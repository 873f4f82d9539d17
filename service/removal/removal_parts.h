// What removals work with. All of it outlives them, and is thread-safe.
#ifndef TALLYD_SERVICE_REMOVAL_REMOVAL_PARTS_H_
#define TALLYD_SERVICE_REMOVAL_REMOVAL_PARTS_H_

#include "config/values/time.h"
#include "ingest/hold/held_counters.h"
#include "service/limits/row_sizes.h"
#include "service/live_schema.h"
#include "service/nightly/nightly_tables.h"
#include "storage/store.h"

namespace tallyd {

class Filler;

struct RemovalParts {
  Store& store;
  const Clock& clock;
  const LiveSchema& live_schema;
  HeldCounters& counters;
  RowSizes& row_sizes;
  NightlyTables* nightly;  // Null: there are none.
  Filler* filler;          // Null: no table is filled, and no latest row brought back.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_REMOVAL_REMOVAL_PARTS_H_
