#include "service/nightly/schedule.h"

#include <algorithm>

namespace tallyd {
namespace {

TimeUs EndOfDay(TimeUs day) { return day + kUsPerDay; }

// Whether `keep` has passed since then; a keep beyond all times never does.
bool IsOver(const Daily& daily, TimeUs from, TimeUs now) {
  return daily.keep_us && *daily.keep_us <= kMaxTimeUs && from + *daily.keep_us <= now;
}

}  // namespace

TimeUs NewestDueDay(const Daily& daily, TimeUs now) {
  return DayOf(std::max(now - daily.at_us, TimeUs{0})) - kUsPerDay;
}

std::vector<TimeUs> DueDays(const Daily& daily, const std::vector<NightlyRecord>& records,
                            TimeUs now) {
  const TimeUs newest_due = NewestDueDay(daily, now);
  TimeUs oldest = newest_due;
  if (!records.empty()) {
    const TimeUs newest = std::ranges::max(records, {}, &NightlyRecord::day).day;
    const bool is_lately = newest >= newest_due - kMostDaysMadeGood * kUsPerDay;
    if (is_lately) oldest = std::min(oldest, newest + kUsPerDay);
  }
  std::vector<TimeUs> days;
  for (TimeUs day = newest_due; day >= std::max(oldest, TimeUs{0}); day -= kUsPerDay) {
    const bool is_there = std::ranges::any_of(
        records, [day](const NightlyRecord& record) { return record.day == day; });
    if (!is_there && !IsOver(daily, EndOfDay(day), now)) days.push_back(day);
  }
  return days;
}

bool IsRebuildDue(const Daily& daily, const NightlyRecord& record, TimeUs now) {
  if (now < record.built_at) return true;  // The clock went back.
  const TimeUs last_at = NewestDueDay(daily, now) + kUsPerDay + daily.at_us;
  if (record.built_at < last_at) return true;
  return now - record.built_at >= std::max(kLeastRebuildUs, kRebuildShare * record.took_us);
}

TimeUs LifeBegins(const Daily& daily, TimeUs day, TimeUs now) {
  return IsOver(daily, EndOfDay(day), now) ? now : EndOfDay(day);
}

std::optional<TimeUs> LifeEnds(const Daily& daily, const NightlyRecord& record) {
  if (!daily.keep_us || *daily.keep_us > kMaxTimeUs) return std::nullopt;
  return record.lives_from + *daily.keep_us;
}

}  // namespace tallyd
