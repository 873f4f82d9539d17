// A store of its own in a scratch folder with the fleet's two tables, and the fleet's bodies.
#ifndef TALLYD_BENCH_MICRO_FLEET_STORE_H_
#define TALLYD_BENCH_MICRO_FLEET_STORE_H_

#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "config/schema/schema.h"
#include "storage/store.h"

namespace tallyd::bench {

inline constexpr int kEventsPerBody = 100;
inline constexpr int kMetrics = 100;
inline constexpr int kSamplesPerBody = kEventsPerBody * kMetrics;

// Bodies of 100 events of so many metrics, with the padding that the decoder wants behind them.
std::vector<std::string> FleetBodies(int count, int metrics = kMetrics);

class FleetStore {
 public:
  FleetStore();
  ~FleetStore();
  FleetStore(const FleetStore&) = delete;
  FleetStore& operator=(const FleetStore&) = delete;

  Store& store() { return *store_; }
  const std::shared_ptr<const Schema>& schema() const { return schema_; }
  // Waits until it is durable.
  void Commit(std::unique_ptr<Batch> batch);
  // Writes these many bodies, and settles.
  void Fill(int bodies);

 private:
  std::string path_;
  SystemClock clock_;
  prometheus::Registry registry_;
  std::shared_ptr<const Schema> schema_;
  std::unique_ptr<Store> store_;
};

}  // namespace tallyd::bench

#endif  // TALLYD_BENCH_MICRO_FLEET_STORE_H_
