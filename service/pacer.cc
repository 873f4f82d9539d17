#include "service/pacer.h"

#include <algorithm>

namespace tallyd {
namespace {

constexpr std::chrono::duration<double> kLongestPause = std::chrono::seconds(1);

}  // namespace

Status Pacer::Pace(SteadyClock::time_point* since) const {
  const auto worked = SteadyClock::now() - *since;
  std::unique_lock lock(*stop_.mutex);
  if (worked >= every_ && cpu_ < 1) {
    const std::chrono::duration<double> rest = worked * (1 / cpu_ - 1);
    stop_.wake->wait_for(lock, std::min(rest, kLongestPause), [this] { return *stop_.stopping; });
  }
  *since = SteadyClock::now();
  if (*stop_.stopping) return Error(ErrorCode::kCancelled, "the daemon is stopping");
  return {};
}

}  // namespace tallyd
