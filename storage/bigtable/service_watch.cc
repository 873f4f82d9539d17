#include "storage/bigtable/service_watch.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace tallyd {

void ServiceWatch::Tell(const Status& looked) {
  const std::lock_guard lock(mutex_);
  const bool had_looked = std::exchange(has_looked_, true);
  const bool was_away = !why_.empty();
  why_ = looked ? "" : looked.error().message();
  if (!looked && (!had_looked || !was_away)) spdlog::warn("bigtable: {}", why_);
  if (looked && had_looked && was_away) spdlog::info("bigtable: the service answers again");
}

std::string ServiceWatch::Why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

bool ServiceWatch::IsAway() const {
  const std::lock_guard lock(mutex_);
  return !why_.empty();
}

}  // namespace tallyd
