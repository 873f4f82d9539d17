#include "service/idempotency/leases.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <random>
#include <utility>

namespace tallyd {
namespace {

// Twice it may fail before a lease is over.
constexpr auto kKeptEvery = Claiming::kClaimLease / 3;

std::string NewOwner() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace

Result<KeyLeases::Taken> KeyLeases::Take(std::string_view key) {
  Claiming::Held lease{std::string(key), NewOwner()};
  const Result<Claiming::Fate> fate = claiming_->Claim(lease);
  if (!fate) return fate.error();
  if (*fate != Claiming::Fate::kOwn) return Taken{*fate, {}};
  const std::lock_guard lock(mutex_);
  if (stopping_) return Error(ErrorCode::kUnavailable, "the daemon stops");
  held_[lease.key] = lease.owner;
  if (!keeper_.joinable()) keeper_ = std::thread([this] { Work(); });
  return Taken{*fate, std::move(lease)};
}

void KeyLeases::GiveBack(Claiming::Held lease, std::function<void()> done) {
  std::unique_lock lock(mutex_);
  held_.erase(lease.key);
  if (stopping_) {
    lock.unlock();
    return done();
  }
  ended_.push_back({std::move(lease), std::move(done)});
  changed_.notify_all();
}

void KeyLeases::Work() {
  auto kept = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait_until(lock, kept + kKeptEvery,
                        [this] { return stopping_ || !ended_.empty(); });
    if (stopping_ && ended_.empty()) return;
    const std::vector<Ended> ended = std::exchange(ended_, {});
    std::vector<Claiming::Held> claims;
    const bool is_due = std::chrono::steady_clock::now() >= kept + kKeptEvery;
    if (is_due) {
      for (const auto& [key, owner] : held_) claims.push_back({key, owner});
    }
    lock.unlock();
    if (is_due) {
      kept = std::chrono::steady_clock::now();
      if (const Status keeps = claiming_->Keep(claims); !keeps) {
        spdlog::warn("claims of Idempotency-Keys: {}", keeps.error().message());
      }
    }
    std::vector<Claiming::Held> released;
    for (const Ended& one : ended) released.push_back(one.lease);
    if (const Status gone = claiming_->Release(released); !gone) {
      spdlog::warn("claims of Idempotency-Keys lapse by themselves: {}", gone.error().message());
    }
    for (const Ended& one : ended) one.done();
    lock.lock();
  }
}

Status KeyLeases::Sweep() {
  if (claiming_ == nullptr) return {};
  return claiming_->SweepClaims();
}

void KeyLeases::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (keeper_.joinable()) keeper_.join();
}

}  // namespace tallyd
