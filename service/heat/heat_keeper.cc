#include "service/heat/heat_keeper.h"

#include <spdlog/spdlog.h>

#include <chrono>

namespace tallyd {
namespace {

constexpr auto kBetweenSaves = std::chrono::minutes(1);

}  // namespace

HeatKeeper::HeatKeeper(HeatMap* heat, Store* store, const Clock* clock)
    : heat_(*heat), store_(*store), clock_(*clock) {
  thread_.Start(kBetweenSaves, [this] {
    Save();
    return kBetweenSaves;
  });
}

void HeatKeeper::Stop() {
  if (thread_.Stop()) Save();
}

void HeatKeeper::Save() {
  const Status saved = heat_.Save(&store_, clock_.Now());
  if (!saved) spdlog::warn("the heat map waits to be written: {}", saved.error().message());
}

}  // namespace tallyd
