// What reads work with, and count in: given to whoever runs one. All of it outlives the read, and
// is thread-safe.
#ifndef TALLYD_SERVICE_READ_PARTS_H_
#define TALLYD_SERVICE_READ_PARTS_H_

#include "config/values/time.h"
#include "service/heat/heat_map.h"
#include "service/helpers.h"
#include "service/metrics/service_metrics.h"
#include "storage/store.h"

namespace tallyd {

struct ReadParts {
  Store& store;
  const Clock& clock;
  ServiceMetrics& metrics;
  HeatMap& heat;
  Helpers& helpers;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_READ_PARTS_H_
