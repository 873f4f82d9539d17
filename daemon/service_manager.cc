#include "daemon/service_manager.h"

#include <systemd/sd-daemon.h>
#include <time.h>

namespace tallyd {

ServiceManager::ServiceManager(bool is_service) : is_service_(is_service) {
  uint64_t interval_us = 0;
  if (is_service_ && sd_watchdog_enabled(0, &interval_us) > 0) alive_interval_us_ = interval_us / 2;
}

void ServiceManager::Ready(const std::string& status) {
  if (is_service_) sd_notifyf(0, "READY=1\nSTATUS=%s", status.c_str());
}

void ServiceManager::Reloading() {
  if (!is_service_) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long long us = static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
  sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", us);
}

void ServiceManager::Stopping() {
  if (is_service_) sd_notify(0, "STOPPING=1");
}

void ServiceManager::Alive() {
  if (is_service_) sd_notify(0, "WATCHDOG=1");
}

}  // namespace tallyd
