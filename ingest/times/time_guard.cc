#include "ingest/times/time_guard.h"

#include <fmt/format.h>

#include <algorithm>

#include "ingest/decode/event_batch.h"

namespace tallyd {

TimeGuard::TimeGuard(const Stream& stream, TimeUs now)
    : earliest_(stream.guards.min_time),
      now_(std::clamp<TimeUs>(now, 0, kMaxTimeUs)),
      unit_(stream.unit),
      stream_(stream.name) {
  if (!stream.guards.max_future_us) return;
  max_future_us_ = *stream.guards.max_future_us;
  latest_ = std::min(now_ + max_future_us_, kMaxTimeUs);
}

Error TimeGuard::WhyNot(std::string_view field, const Value& sent, TimeUs time,
                        TimeUs retention) const {
  const std::string found =
      sent.is_number() ? fmt::format("{} {} is {}", ToText(sent), ToString(unit_),
                                     FormatRfc3339(time))
                       : fmt::format("\"{}\"", Shown(ToText(sent)));
  const bool is_late = time > latest_;
  const bool is_clock = now_ < earliest_ || time <= retention + max_future_us_;
  if (is_late && is_clock) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("the daemon's clock is behind, it says {}: field \"{}\": {}, more "
                             "than {} ahead of it; nothing was stored, send again once the clock "
                             "is right",
                             FormatRfc3339(now_), field, found, FormatDuration(max_future_us_)));
  }
  const std::string bound =
      is_late ? fmt::format("more than max_future, {}, after now", FormatDuration(max_future_us_))
              : fmt::format("earlier than min_time, {}", FormatRfc3339(earliest_));
  return Invalid(fmt::format("field \"{}\": {}, {}{}; times beyond the bounds of [ingest] or "
                             "streams.{} are taken with guards=off",
                             field, found, bound, UnitHint(sent, unit_, {earliest_, latest_ + 1}),
                             stream_));
}

}  // namespace tallyd
