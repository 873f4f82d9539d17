#include "storage/bigtable/wire/retry.h"

#include <algorithm>
#include <random>
#include <string>

namespace tallyd {
namespace {

ErrorCode CodeOf(const RpcStatus& status) {
  if (IsPassing(status)) return ErrorCode::kUnavailable;
  switch (status.code) {
    case RpcCode::kNotFound:
      return ErrorCode::kNotFound;
    case RpcCode::kFailedPrecondition:
    case RpcCode::kAlreadyExists:
      return ErrorCode::kConflict;
    case RpcCode::kPermissionDenied:
    case RpcCode::kUnauthenticated:
      // The daemon's own credentials are not whoever asks's: to them the store is out of order.
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace

bool IsPassing(const RpcStatus& status) {
  if (status.retry_after) return !status.ok();
  switch (status.code) {
    case RpcCode::kUnavailable:
    case RpcCode::kDeadlineExceeded:
    case RpcCode::kAborted:
    case RpcCode::kResourceExhausted:
    case RpcCode::kCancelled:
      return true;
    case RpcCode::kInternal:
      // A stream that was reset is told so by proxies.
      return status.message.find("RST_STREAM") != std::string::npos ||
             status.message.find("rst stream") != std::string::npos ||
             status.message.find("Received unexpected EOS") != std::string::npos;
    default:
      return false;
  }
}

bool MayBeDone(const RpcStatus& status) {
  switch (status.code) {
    case RpcCode::kOk:
    case RpcCode::kInvalidArgument:
    case RpcCode::kNotFound:
    case RpcCode::kAlreadyExists:
    case RpcCode::kPermissionDenied:
    case RpcCode::kFailedPrecondition:
    case RpcCode::kOutOfRange:
    case RpcCode::kUnimplemented:
    case RpcCode::kUnauthenticated:
      return false;
    case RpcCode::kUnavailable:
      // gRPC's own words where it has no connection.
      return status.message.find("failed to connect to all addresses") == std::string::npos;
    default:
      return true;
  }
}

Error ErrorOf(const RpcStatus& status, std::string_view what) {
  std::string message(what);
  message.append(": Bigtable answers: ");
  message.append(status.message.empty() ? "code " + std::to_string(static_cast<int>(status.code))
                                        : status.message);
  return Error(CodeOf(status), std::move(message));
}

Retry::Retry(const Ending& ending, SteadyTime deadline, const std::atomic<bool>* cancelled)
    : ending_(ending), deadline_(deadline), cancelled_(cancelled) {}

SteadyTime Retry::attempt_deadline(int64_t attempt_us) const {
  return std::min(deadline_,
                  std::chrono::steady_clock::now() + std::chrono::microseconds(attempt_us));
}

bool Retry::MayTryAgain(const RpcStatus& status) {
  if (status.ok() || status.given_up || !IsPassing(status) || IsCancelled()) return false;
  std::random_device random;
  std::uniform_int_distribution<int64_t> spread(wait_.count() / 2, wait_.count());
  std::chrono::microseconds wait = Wait(spread(random));
  // As the service says, and by as little at random.
  if (status.retry_after) wait += *status.retry_after;
  wait_ = std::min(2 * wait_, kLongestWait);
  const SteadyTime now = std::chrono::steady_clock::now();
  if (now + wait >= deadline_) return false;
  return WaitUntil(now + wait);
}

// False: nobody waits for it any more.
bool Retry::WaitUntil(SteadyTime when) const {
  constexpr auto kLook = std::chrono::milliseconds(20);
  while (!IsCancelled()) {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now >= when) return true;
    const SteadyTime look = cancelled_ != nullptr ? std::min(when, now + kLook) : when;
    if (ending_.WaitUntil(look)) return false;
  }
  return false;
}

}  // namespace tallyd
