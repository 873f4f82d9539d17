#include "service/limits/shared_bytes.h"

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

// False: then `held` would exceed the limit, and is as it was.
bool TryAdd(std::atomic<uint64_t>* held, uint64_t bytes, uint64_t limit) {
  uint64_t before = held->load(std::memory_order_relaxed);
  while (bytes <= limit && before <= limit - bytes) {
    if (held->compare_exchange_weak(before, before + bytes, std::memory_order_relaxed)) return true;
  }
  return false;
}

bool Fits(uint64_t held, uint64_t bytes, uint64_t limit) {
  return bytes <= limit && held <= limit - bytes;
}

}  // namespace

void SharedBytes::SetPrincipals(size_t count) {
  const std::lock_guard lock(mutex_);
  any_ = count > 0;
  several_ = count > 1;
  std::erase_if(shares_, [](const auto& share) { return share.second.expired(); });
}

SharedBytes::SharePtr SharedBytes::ShareOf(std::string_view principal) {
  if (!several_.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(mutex_);
  auto found = shares_.find(principal);
  if (found == shares_.end()) found = shares_.try_emplace(std::string(principal)).first;
  SharePtr share = found->second.lock();
  if (!share) found->second = share = std::make_shared<Share>();
  return share;
}

uint64_t SharedBytes::LimitOf(const Share* share) const {
  if (share == nullptr) return limit_;
  if (share == strangers_.get()) return any_.load(std::memory_order_relaxed) ? limit_ / 4 : limit_;
  return several_.load(std::memory_order_relaxed) ? limit_ / 2 : limit_;
}

bool SharedBytes::HasRoomInShare(const Share* share, uint64_t bytes) const {
  return share == nullptr ||
         Fits(share->held_.load(std::memory_order_relaxed), bytes, LimitOf(share));
}

uint64_t SharedBytes::Room(const Share* share) const {
  const uint64_t room = limit_ - std::min(held(), limit_);
  if (share == nullptr) return room;
  const uint64_t most = LimitOf(share);
  return std::min(room, most - std::min(share->held_.load(std::memory_order_relaxed), most));
}

bool SharedBytes::TryTake(Share* share, uint64_t bytes) {
  if (share != nullptr && !TryAdd(&share->held_, bytes, LimitOf(share))) return false;
  if (TryAdd(&held_, bytes, limit_)) return true;
  if (share != nullptr) share->held_.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void SharedBytes::GiveBack(Share* share, uint64_t bytes) {
  if (share != nullptr) share->held_.fetch_sub(bytes, std::memory_order_relaxed);
  held_.fetch_sub(bytes, std::memory_order_relaxed);
  given_back_.fetch_add(bytes, std::memory_order_relaxed);
}

void SharedBytes::Sample(DrainRate::Time now) {
  const std::lock_guard lock(mutex_);
  const uint64_t by_now = given_back();
  rate_.Note(by_now - std::exchange(sampled_, by_now), now);
}

unsigned SharedBytes::RetryAfterSeconds(DrainRate::Time now) const {
  const std::lock_guard lock(mutex_);
  return rate_.SecondsFor(held(), now);
}

}  // namespace tallyd
