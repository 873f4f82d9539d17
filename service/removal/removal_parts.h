// What removals work with. All of it outlives them, and is thread-safe.
#ifndef TALLYD_SERVICE_REMOVAL_REMOVAL_PARTS_H_
#define TALLYD_SERVICE_REMOVAL_REMOVAL_PARTS_H_

#include "config/values/time.h"
#include "service/nightly/nightly_tables.h"
#include "service/principal.h"
#include "service/write/writer.h"
#include "storage/store.h"

namespace tallyd {

class LatestRestorer;

struct RemovalParts {
  const PrincipalPtr& who;  // Asks for it.
  Store& store;
  const Clock& clock;
  Writer& writer;
  NightlyTables& nightly;
  LatestRestorer& restorer;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_REMOVAL_REMOVAL_PARTS_H_
