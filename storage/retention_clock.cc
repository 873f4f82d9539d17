#include "storage/retention_clock.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace tallyd {
namespace {

constexpr auto kLookEvery = std::chrono::minutes(1);

// What can be stored: a clock may say anything.
TimeUs WallTime(const Clock& clock) { return std::clamp<TimeUs>(clock.Now(), 0, kMaxTimeUs); }

}  // namespace

RetentionClock::RetentionClock(const Clock& clock) : clock_(clock) { Start(std::nullopt); }

void RetentionClock::Start(std::optional<TimeUs> persisted) {
  const std::lock_guard lock(mutex_);
  jump_.reset();
  steady_ = clock_.SteadyUs();
  wall_ = WallTime(clock_);
  time_ = persisted ? *persisted : wall_;
  if (wall_ > time_ && wall_ - time_ <= kBelievedAtStartUs) time_ = wall_;
  if (wall_ > time_) Doubt(wall_, steady_);
  if (wall_ < time_ - kToleranceUs) {
    spdlog::warn(
        "store: the wall clock, {}, is behind {}, when data expired last: until it gets "
        "there nothing more is removed for its age than it says",
        FormatRfc3339(wall_), FormatRfc3339(time_));
  }
}

// The monotonic clock is read first: a pause between the two readings then makes the wall clock
// seem ahead for one look, not for ever.
void RetentionClock::Look() {
  const int64_t steady = clock_.SteadyUs();
  const TimeUs wall = WallTime(clock_);
  const TimeUs reachable = time_ + std::max<int64_t>(steady - steady_, 0);
  steady_ = steady;
  wall_ = wall;
  if (wall > reachable) {
    time_ = reachable;
    return Doubt(wall, steady);
  }
  time_ = std::max(time_, wall);
  jump_.reset();
}

void RetentionClock::Doubt(TimeUs wall, int64_t steady) {
  const int64_t offset = wall - steady;
  const bool is_jump = wall - time_ > kToleranceUs;
  if (!jump_ || std::abs(offset - jump_->wall_less_steady) > kToleranceUs) {
    jump_ = Jump{offset, steady};
    if (!is_jump) return;
    spdlog::warn(
        "store: the wall clock jumped ahead to {}; what expires goes by {} until the jump "
        "has held for an hour, or until POST /-/trust-clock",
        FormatRfc3339(wall), FormatRfc3339(time_));
  } else if (steady - jump_->since >= kHoldUs) {
    if (is_jump) {
      spdlog::warn(
          "store: the wall clock has held {} for an hour and is believed: what has expired "
          "by it is removed",
          FormatRfc3339(wall));
    }
    time_ = wall;
    jump_.reset();
  }
}

TimeUs RetentionClock::Now() {
  const std::lock_guard lock(mutex_);
  Look();
  return std::min(time_, wall_);
}

void RetentionClock::Trust() {
  const std::lock_guard lock(mutex_);
  Look();
  spdlog::warn("store: the wall clock is trusted: what expires goes by {}, no longer by {}",
               FormatRfc3339(wall_), FormatRfc3339(time_));
  time_ = wall_;
  jump_.reset();
}

RetentionClock::State RetentionClock::GetState() {
  const std::lock_guard lock(mutex_);
  Look();
  State state{time_, wall_ - time_, true, 0};
  if (jump_ && state.lag_us > kToleranceUs) {
    state.believes_wall = false;
    state.believes_in_us = std::max<int64_t>(kHoldUs - (steady_ - jump_->since), 0);
  }
  return state;
}

RetentionKeeper::RetentionKeeper(RetentionClock* clock, std::optional<TimeUs> persisted,
                                 Persist persist)
    : clock_(clock), persist_(std::move(persist)), persisted_(persisted) {
  Look();
  thread_.Start(kLookEvery, [this] {
    Look();
    return kLookEvery;
  });
}

// What could not be persisted is tried again at the next look.
void RetentionKeeper::Look() {
  const Status persisted = PersistIfAdvanced(kPersistEveryUs);
  if (!persisted) spdlog::debug("store: retention clock: {}", persisted.error().message());
}

Status RetentionKeeper::PersistIfAdvanced(int64_t by_us) {
  const std::lock_guard lock(persist_mutex_);
  const TimeUs time = clock_->GetState().time;
  if (persisted_ && time < *persisted_ + by_us) return {};
  Status persisted = persist_(time);
  if (persisted) persisted_ = time;
  return persisted;
}

Status RetentionKeeper::Trust() {
  const std::lock_guard lock(persist_mutex_);
  clock_->Trust();
  const TimeUs time = clock_->GetState().time;
  Status persisted = persist_(time);
  if (persisted) persisted_ = time;
  return persisted;
}

void RetentionKeeper::Stop() {
  if (!thread_.Stop()) return;
  const Status persisted = PersistIfAdvanced(1);
  if (!persisted) spdlog::debug("store: retention clock: {}", persisted.error().message());
}

}  // namespace tallyd
