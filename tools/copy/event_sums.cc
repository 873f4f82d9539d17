#include "tools/copy/event_sums.h"

#include <fmt/format.h>

namespace tallyd {

EventSums EventSums::LikeThoseOf(const EventSums& other) {
  EventSums sums;
  sums.width_us_ = other.width_us_;
  sums.may_widen_ = false;
  return sums;
}

void EventSums::Add(TimeUs time, uint64_t digest) {
  Sum& sum = spans_[time / width_us_];
  ++sum.events;
  sum.digests += digest;
  while (may_widen_ && spans_.size() > kMaxSpans) Widen();
}

void EventSums::Remove(TimeUs time, uint64_t digest) {
  const auto span = spans_.find(time / width_us_);
  if (span == spans_.end()) return;
  span->second.digests -= digest;
  if (--span->second.events == 0) spans_.erase(span);
}

void EventSums::Widen() {
  std::map<int64_t, Sum> wider;
  for (const auto& [span, sum] : spans_) {
    wider[span / 2].events += sum.events;
    wider[span / 2].digests += sum.digests;
  }
  spans_ = std::move(wider);
  width_us_ *= 2;
}

EventSums::Sum EventSums::Total(TimeUs from) const {
  Sum total;
  for (const auto& [span, sum] : spans_) {
    if ((span + 1) * width_us_ <= from) continue;
    total.events += sum.events;
    total.digests += sum.digests;
  }
  return total;
}

std::vector<TimeUs> EventSums::Starts() const {
  std::vector<TimeUs> starts;
  for (const auto& [span, sum] : spans_) starts.push_back(span * width_us_);
  return starts;
}

std::optional<EventSums::Difference> EventSums::FirstDifference(const EventSums& there,
                                                                TimeUs from) const {
  std::map<int64_t, std::pair<Sum, Sum>> both;
  for (const auto& [span, sum] : spans_) both[span].first = sum;
  for (const auto& [span, sum] : there.spans_) both[span].second = sum;
  for (const auto& [span, sums] : both) {
    const TimeUs begin = span * width_us_;
    if (begin + width_us_ <= from || sums.first == sums.second) continue;
    return Difference{{begin, begin + width_us_}, sums.first, sums.second};
  }
  return std::nullopt;
}

std::optional<EventSums::Difference> EventSums::FirstGrowth(const EventSums& there) const {
  for (const auto& [span, sum] : there.spans_) {
    const auto found = spans_.find(span);
    const Sum here = found == spans_.end() ? Sum() : found->second;
    if (sum.events < here.events || sum == here) continue;
    return Difference{{span * width_us_, (span + 1) * width_us_}, here, sum};
  }
  return std::nullopt;
}

Json EventSums::ToJson() const {
  Json spans = Json::array();
  for (const auto& [span, sum] : spans_) spans.push_back({span, sum.events, sum.digests});
  return {{"width_us", width_us_}, {"spans", std::move(spans)}};
}

Result<EventSums> EventSums::OfJson(const Json& json) {
  const Error wrong(ErrorCode::kCorruption, "it has no sums of events");
  if (!json.is_object() || !json.contains("width_us") || !json.contains("spans")) return wrong;
  if (!json["width_us"].is_number_integer() || !json["spans"].is_array()) return wrong;
  EventSums sums;
  sums.width_us_ = json["width_us"].get<int64_t>();
  if (sums.width_us_ <= 0) return wrong;
  for (const Json& span : json["spans"]) {
    if (!span.is_array() || span.size() != 3) return wrong;
    for (const Json& number : span) {
      if (!number.is_number_integer()) return wrong;
    }
    sums.spans_[span[0].get<int64_t>()] = {span[1].get<uint64_t>(), span[2].get<uint64_t>()};
  }
  return sums;
}

std::string ChecksumText(uint64_t digests) { return fmt::format("{:016x}", digests); }

}  // namespace tallyd
