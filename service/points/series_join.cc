#include "service/points/series_join.h"

#include <algorithm>
#include <utility>

#include "service/query/steps/exact.h"

namespace tallyd {

SeriesJoin::SeriesJoin(const PointSet& set, const SeriesGroup& group, SeriesAggregation joined_by)
    : joined_by_(joined_by), interpolates_(InfoOf(joined_by).interpolates), fold_(joined_by) {
  std::vector<Due> next;
  for (const size_t member : group.members) {
    const std::vector<SeriesPoint>& points = set.series[member].points;
    if (points.empty()) continue;
    next.emplace_back(points.front().time, static_cast<uint32_t>(members_.size()));
    members_.push_back({&points});
  }
  next_ = decltype(next_)({}, std::move(next));
}

void SeriesJoin::Count(TimeUs time, Member* member) {
  const std::vector<SeriesPoint>& points = *member->points;
  const SeriesPoint& next = points[member->next];
  if (next.time == time) {
    if (!next.value.is_null()) numbers_.push_back(next.value);
    ++member->next;
    return;
  }
  const SeriesPoint& before = points[member->next - 1];
  if (before.value.is_null() || next.value.is_null()) return;
  const Value between = Between(before.value, next.value, static_cast<uint64_t>(time - before.time),
                                static_cast<uint64_t>(next.time - before.time));
  if (!between.is_null()) numbers_.push_back(between);
}

void SeriesJoin::AddBegun() {
  const auto before = static_cast<std::ptrdiff_t>(live_.size());
  for (const uint32_t member : due_) {
    if (members_[member].next == 0) live_.push_back(member);
  }
  std::inplace_merge(live_.begin(), live_.begin() + before, live_.end());
}

void SeriesJoin::DropEnded() {
  const auto has_ended = [this](uint32_t member) {
    return members_[member].next == members_[member].points->size();
  };
  if (std::ranges::any_of(due_, has_ended)) std::erase_if(live_, has_ended);
}

bool SeriesJoin::Next() {
  if (next_.empty()) return false;
  const TimeUs time = next_.top().first;
  due_.clear();
  for (; !next_.empty() && next_.top().first == time; next_.pop()) {
    due_.push_back(next_.top().second);
  }
  if (interpolates_) AddBegun();
  numbers_.clear();
  for (const uint32_t member : interpolates_ ? live_ : due_) Count(time, &members_[member]);
  for (const uint32_t member : due_) {
    const Member& at = members_[member];
    if (at.next < at.points->size()) next_.emplace((*at.points)[at.next].time, member);
  }
  if (interpolates_) DropEnded();
  const bool stands_alone = joined_by_ == SeriesAggregation::kNone;
  point_ = {time, stands_alone && !numbers_.empty() ? numbers_.front() : fold_.Of(numbers_)};
  return true;
}

}  // namespace tallyd
