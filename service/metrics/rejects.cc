#include "service/metrics/rejects.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace tallyd {
namespace {

constexpr std::string_view kNames[kRejectReasons] = {
    "malformed", "event", "too_large", "unsupported", "overloaded", "storage", "http"};

}  // namespace

std::string_view ToString(RejectReason reason) { return kNames[static_cast<size_t>(reason)]; }

RejectReason ReasonOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kTooLarge:
      return RejectReason::kTooLarge;
    case ErrorCode::kUnsupported:
      return RejectReason::kUnsupported;
    case ErrorCode::kOverloaded:
    case ErrorCode::kThrottled:
      return RejectReason::kOverloaded;
    case ErrorCode::kInvalid:
    case ErrorCode::kUnprocessable:
    case ErrorCode::kForbidden:
    case ErrorCode::kNotFound:
    case ErrorCode::kConflict:
      return RejectReason::kMalformed;
    case ErrorCode::kUnavailable:
    case ErrorCode::kInDoubt:
    case ErrorCode::kNoSpace:
    case ErrorCode::kCorruption:
    case ErrorCode::kIo:
    case ErrorCode::kCancelled:
      return RejectReason::kStorage;
  }
  return RejectReason::kStorage;
}

Rejects::Rejects(prometheus::Registry& registry)
    : family_(prometheus::BuildCounter()
                  .Name("tallyd_rejects_total")
                  .Help("Requests to write events that were refused, by stream (empty: none of "
                        "the configuration) and reason.")
                  .Register(registry)) {
  Of("");  // So that the name is there before anything was refused.
}

Rejects::OfStream& Rejects::Of(std::string_view stream) {
  const auto found = streams_.find(stream);
  if (found != streams_.end()) return found->second;
  OfStream& added = streams_[std::string(stream)];
  for (size_t i = 0; i < kRejectReasons; ++i) {
    added[i].counter =
        &family_.Add({{"stream", std::string(stream)}, {"reason", std::string(kNames[i])}});
  }
  return added;
}

bool Rejects::TakeLine(Time now) {
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    lines_ = 0;
  }
  return ++lines_ <= kLinesPerSecond;
}

std::optional<std::string> Rejects::Note(std::string_view stream, RejectReason reason,
                                         std::string_view detail, std::string_view peer, Time now) {
  const std::lock_guard lock(mutex_);
  Series& series = Of(stream)[static_cast<size_t>(reason)];
  series.counter->Increment();
  ++series.untold;
  if (series.told && now - *series.told < kQuiet) return std::nullopt;
  if (!TakeLine(now)) return std::nullopt;
  const uint64_t count = std::exchange(series.untold, 0);
  series.told = now;
  return fmt::format("{} {} refused ({}), the last one{}{}: {}{}",
                     stream.empty() ? "writes to no stream:" : fmt::format("stream {}:", stream),
                     count, ToString(reason), peer.empty() ? "" : " by ", peer,
                     detail.substr(0, kDetailBytes), detail.size() > kDetailBytes ? "..." : "");
}

void Rejects::Count(std::string_view stream, RejectReason reason, std::string_view detail,
                    std::string_view peer) {
  const auto line = Note(stream, reason, detail, peer, std::chrono::steady_clock::now());
  if (line) spdlog::warn("{}", *line);
}

}  // namespace tallyd
