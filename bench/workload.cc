#include "bench/workload.h"

namespace tallyd::bench {

void EventSource::FillBody(int events, std::string* out) {
  writer_.BeginBody(out);
  for (int i = 0; i < events; ++i) WriteEvent(&writer_);
  writer_.EndBody();
}

std::unique_ptr<EventSource> MakeSource(WorkloadKind kind, const SourceOptions& options) {
  switch (kind) {
    case WorkloadKind::kFleet:
      return MakeFleetSource(options);
    case WorkloadKind::kMeters:
      return MakeMeterSource(options);
    case WorkloadKind::kMarket:
      return MakeMarketSource(options);
    case WorkloadKind::kCounters:
      return MakeCounterSource(options);
    case WorkloadKind::kFields:
      return MakeFieldSource(options);
  }
  return nullptr;
}

}  // namespace tallyd::bench
