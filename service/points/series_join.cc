#include "service/points/series_join.h"

#include <algorithm>
#include <limits>

#include "service/query/steps/exact.h"

namespace tallyd {

SeriesJoin::SeriesJoin(const PointSet& set, const SeriesGroup& group, SeriesAggregation joined_by)
    : joined_by_(joined_by), fold_(joined_by) {
  for (const size_t member : group.members) members_.push_back({&set.series[member].points});
}

void SeriesJoin::Count(TimeUs time, Member* member) {
  const std::vector<SeriesPoint>& points = *member->points;
  if (member->next == points.size()) return;
  const SeriesPoint& next = points[member->next];
  if (next.time == time) {
    if (!next.value.is_null()) numbers_.push_back(next.value);
    ++member->next;
    return;
  }
  if (member->next == 0 || !InfoOf(joined_by_).interpolates) return;
  const SeriesPoint& before = points[member->next - 1];
  if (before.value.is_null() || next.value.is_null()) return;
  const Value between = Between(before.value, next.value, static_cast<uint64_t>(time - before.time),
                                static_cast<uint64_t>(next.time - before.time));
  if (!between.is_null()) numbers_.push_back(between);
}

bool SeriesJoin::Next() {
  constexpr TimeUs kNone = std::numeric_limits<TimeUs>::max();
  TimeUs time = kNone;
  for (const Member& member : members_) {
    if (member.next < member.points->size()) {
      time = std::min(time, (*member.points)[member.next].time);
    }
  }
  if (time == kNone) return false;
  numbers_.clear();
  for (Member& member : members_) Count(time, &member);
  const bool stands_alone = joined_by_ == SeriesAggregation::kNone;
  point_ = {time, stands_alone && !numbers_.empty() ? numbers_.front() : fold_.Of(numbers_)};
  return true;
}

}  // namespace tallyd
