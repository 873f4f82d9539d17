// HealthWatch: a thread that looks once a second whether the store goes on committing
// (commit_watch.h), says so to /readyz, and tells systemd that the daemon is alive as long as a
// restart would not help. The log has a line for each change.
//
//   HealthWatch watch(&progress, std::move(probe), &context.commits_wait, &service_manager);
//   watch.Start();  ...  watch.Stop();  // Before what it was given goes.
#ifndef TALLYD_DAEMON_HEALTH_WATCH_H_
#define TALLYD_DAEMON_HEALTH_WATCH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "config/values/repeating_thread.h"
#include "daemon/commit_watch.h"
#include "daemon/service_manager.h"
#include "storage/commit_progress.h"

namespace tallyd {

class HealthWatch {
 public:
  // All outlive it. `commits_wait` is true while a commit takes so long that the daemon is not
  // ready.
  HealthWatch(const CommitProgress* progress, std::unique_ptr<DiskProbe> probe,
              std::atomic<bool>* commits_wait, ServiceManager* service_manager);

  void Start();
  void Stop() { thread_.Stop(); }  // Idempotent.

  // As the thread does it.
  void Look(int64_t now_us);

 private:
  void Tell(CommitVerdict verdict, int64_t running_us);

  const CommitProgress* const progress_;
  const std::unique_ptr<DiskProbe> probe_;
  CommitWatch watch_;
  std::atomic<bool>* const commits_wait_;
  ServiceManager* const service_manager_;
  CommitVerdict verdict_ = CommitVerdict::kGoesOn;
  int64_t told_alive_us_ = 0;
  RepeatingThread thread_;  // Last: it uses what stands above.
};

}  // namespace tallyd

#endif  // TALLYD_DAEMON_HEALTH_WATCH_H_
