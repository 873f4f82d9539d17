#include "service/limits/body_budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace tallyd {
namespace {

constexpr uint64_t kGrain = 64u << 10;

}  // namespace

void BodyCharge::BeginFor(PrincipalPtr principal) {
  Clear();
  principal_ = std::move(principal);
  share_.reset();
  has_share_ = false;
}

SharedBytes::Share* BodyCharge::share() {
  if (!std::exchange(has_share_, true)) {
    share_ = principal_ ? budget_->ShareOf(principal_->name) : budget_->ShareOfStrangers();
  }
  return share_.get();
}

bool BodyCharge::Admits(uint64_t bytes) {
  if (budget_ == nullptr || bytes <= std::max(charged_, kUncounted)) return true;
  return bytes - charged_ <= budget_->Room(share());
}

bool BodyCharge::Grow(uint64_t bytes) {
  const uint64_t grown = (bytes + kGrain - 1) / kGrain * kGrain;
  for (const uint64_t wanted : {grown, bytes}) {
    if (!budget_->TryTake(share(), wanted - charged_)) continue;
    charged_ = wanted;
    return true;
  }
  return false;
}

void BodyCharge::Clear() {
  if (charged_ > 0) budget_->GiveBack(share_.get(), std::exchange(charged_, 0));
}

Error BodyCharge::Refusal(uint64_t bytes) {
  const unsigned seconds = budget_->RetryAfterSeconds(std::chrono::steady_clock::now());
  const bool is_of_share = !budget_->HasRoomInShare(share(), bytes - std::min(bytes, charged_));
  if (is_of_share && principal_ == nullptr) {
    return Error(ErrorCode::kOverloaded,
                 fmt::format("requests of which nobody knows yet whose they are hold their part of "
                             "server.body_memory, {} bytes: a head up to 16 KiB is always taken",
                             budget_->LimitOf(share())))
        .RetryAfter(seconds);
  }
  if (is_of_share) {
    return Error(ErrorCode::kThrottled,
                 fmt::format("the bodies that this token is sending hold its half of "
                             "server.body_memory, {} bytes: send fewer at a time",
                             budget_->LimitOf(share())))
        .RetryAfter(seconds);
  }
  return Error(ErrorCode::kOverloaded,
               fmt::format("the bodies that are being read hold all of server.body_memory, {} "
                           "bytes: try again later",
                           budget_->limit()))
      .RetryAfter(seconds);
}

}  // namespace tallyd
