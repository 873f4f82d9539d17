// The store's state as gauges of /metrics: what every store has, and what the engine measures of
// itself.
#ifndef TALLYD_API_METRICS_STORE_GAUGES_H_
#define TALLYD_API_METRICS_STORE_GAUGES_H_

#include <prometheus/metric_family.h>

#include <vector>

#include "storage/store.h"

namespace tallyd {

std::vector<prometheus::MetricFamily> GaugesOf(const StoreState& state);

}  // namespace tallyd

#endif  // TALLYD_API_METRICS_STORE_GAUGES_H_
