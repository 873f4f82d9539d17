// What systemd is told (sd_notify(3)): ready, reloading, stopping, and alive, at half of its
// watchdog's interval at least. Without systemd every call does nothing, and so it does of a daemon
// that is no service, but runs in the process of a tool. Thread-safe.
#ifndef TALLYD_DAEMON_SERVICE_MANAGER_H_
#define TALLYD_DAEMON_SERVICE_MANAGER_H_

#include <cstdint>
#include <string>

namespace tallyd {

class ServiceManager {
 public:
  explicit ServiceManager(bool is_service);
  void Ready(const std::string& status);
  void Reloading();
  void Stopping();
  void Alive();
  // 0: no watchdog.
  uint64_t alive_interval_us() const { return alive_interval_us_; }

 private:
  const bool is_service_;
  uint64_t alive_interval_us_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_DAEMON_SERVICE_MANAGER_H_
