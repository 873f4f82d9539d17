#include "daemon/health_watch.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

namespace tallyd {

namespace {

constexpr auto kBetweenLooks = std::chrono::seconds(1);

}  // namespace

HealthWatch::HealthWatch(const CommitProgress* progress, std::unique_ptr<DiskProbe> probe,
                         std::atomic<bool>* commits_wait, ServiceManager* service_manager)
    : progress_(progress),
      probe_(std::move(probe)),
      watch_(probe_.get()),
      commits_wait_(commits_wait),
      service_manager_(service_manager) {}

void HealthWatch::Start() {
  thread_.Start(RepeatingThread::Wait(0), [this] {
    Look(CommitProgress::NowUs());
    return RepeatingThread::Wait(kBetweenLooks);
  });
}

void HealthWatch::Look(int64_t now_us) {
  const int64_t began_us = progress_->began_us();
  const CommitVerdict verdict = watch_.Look(now_us, began_us);
  *commits_wait_ = verdict != CommitVerdict::kGoesOn;
  if (verdict != std::exchange(verdict_, verdict)) Tell(verdict, now_us - began_us);
  const auto interval_us = static_cast<int64_t>(service_manager_->alive_interval_us());
  if (verdict == CommitVerdict::kStuck || interval_us == 0) return;
  // The next look would be too late.
  const int64_t next_us = now_us + std::chrono::microseconds(kBetweenLooks).count();
  if (told_alive_us_ != 0 && next_us - told_alive_us_ <= interval_us) return;
  told_alive_us_ = now_us;
  service_manager_->Alive();
}

void HealthWatch::Tell(CommitVerdict verdict, int64_t running_us) {
  const int64_t seconds = running_us / 1'000'000;
  switch (verdict) {
    case CommitVerdict::kGoesOn:
      spdlog::info("store: commits end again");
      return;
    case CommitVerdict::kWaits:
      spdlog::warn("store: a commit has not ended for {} s; /readyz says 503 until it does",
                   seconds);
      return;
    case CommitVerdict::kDiskHangs:
      spdlog::error(
          "store: a commit has not ended for {} s, and the disk does not answer another write, "
          "either: waiting for the disk",
          seconds);
      return;
    case CommitVerdict::kStuck:
      spdlog::critical(
          "store: a commit has not ended for {} s, while the disk answers other writes; systemd is "
          "no longer told that this process is alive, so that it starts another one",
          seconds);
      return;
  }
}

}  // namespace tallyd
