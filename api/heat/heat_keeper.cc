#include "api/heat/heat_keeper.h"

#include <spdlog/spdlog.h>

#include <chrono>

namespace tallyd {
namespace {

constexpr auto kBetweenSaves = std::chrono::minutes(1);

}  // namespace

HeatKeeper::HeatKeeper(HeatMap* heat, Store* store, const Clock* clock)
    : heat_(*heat), store_(*store), clock_(*clock), thread_([this] { Run(); }) {}

HeatKeeper::~HeatKeeper() { Stop(); }

void HeatKeeper::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  Save();
}

void HeatKeeper::Run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kBetweenSaves, [this] { return stopping_; })) {
    lock.unlock();
    Save();
    lock.lock();
  }
}

void HeatKeeper::Save() {
  const Status saved = heat_.Save(&store_, clock_.Now());
  if (!saved) spdlog::warn("the heat map waits to be written: {}", saved.error().message());
}

}  // namespace tallyd
