#include "service/limits/body_budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace tallyd {
namespace {

constexpr uint64_t kGrain = 64u << 10;

}  // namespace

void BodyCharge::BeginFor(std::string_view principal) {
  Clear();
  share_ = budget_ == nullptr ? nullptr : budget_->ShareOf(principal);
}

bool BodyCharge::Admits(uint64_t bytes) const {
  if (budget_ == nullptr || bytes <= std::max(charged_, kUncounted)) return true;
  return bytes - charged_ <= budget_->Room(share_.get());
}

bool BodyCharge::Grow(uint64_t bytes) {
  const uint64_t grown = (bytes + kGrain - 1) / kGrain * kGrain;
  for (const uint64_t wanted : {grown, bytes}) {
    if (!budget_->TryTake(share_.get(), wanted - charged_)) continue;
    charged_ = wanted;
    return true;
  }
  return false;
}

void BodyCharge::Clear() {
  if (charged_ > 0) budget_->GiveBack(share_.get(), std::exchange(charged_, 0));
}

Error BodyCharge::Refusal(uint64_t bytes) const {
  const unsigned seconds = budget_->RetryAfterSeconds(std::chrono::steady_clock::now());
  if (!budget_->HasRoomInShare(share_.get(), bytes - std::min(bytes, charged_))) {
    return Error(ErrorCode::kThrottled,
                 fmt::format("the bodies that this token is sending hold its half of "
                             "server.body_memory, {} bytes: send fewer at a time",
                             budget_->LimitOf(share_.get())))
        .RetryAfter(seconds);
  }
  return Error(ErrorCode::kOverloaded,
               fmt::format("the bodies that are being read hold all of server.body_memory, {} "
                           "bytes: try again later",
                           budget_->limit()))
      .RetryAfter(seconds);
}

}  // namespace tallyd
