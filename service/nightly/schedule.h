// When nightly tables are made and go, by the clock alone: pure functions of what the file says,
// what there is, and the time.
//
// - A day's table is due at `at` of the day after (UTC). It stays due until it is there: a start
//   that comes later makes it, and those of the days that passed since the newest one that there
//   is, if that is not long ago. What is past its `keep` is due no more.
// - A table that late readings came for is made again at the next `at`; or sooner, where that takes
//   a small part of the time only.
// - A table goes when `keep` has passed since its day ended; one that was asked for when that was
//   over, when `keep` has passed since then.
#ifndef TALLYD_SERVICE_NIGHTLY_SCHEDULE_H_
#define TALLYD_SERVICE_NIGHTLY_SCHEDULE_H_

#include <optional>
#include <vector>

#include "config/values/daily.h"
#include "service/nightly/nightly_record.h"

namespace tallyd {

// So many days that passed without this daemon are made good.
inline constexpr int kMostDaysMadeGood = 31;
// Late readings make a table anew after so long at least, and after so many times what it takes.
inline constexpr int64_t kLeastRebuildUs = 5 * kUsPerSecond;
inline constexpr int64_t kRebuildShare = 20;

// The newest day whose table should be there.
TimeUs NewestDueDay(const Daily& daily, TimeUs now);
// The days whose tables should be there and are not, the newest first. `records`: of this table.
std::vector<TimeUs> DueDays(const Daily& daily, const std::vector<NightlyRecord>& records,
                            TimeUs now);

// Whether a table that is behind may be made again now.
bool IsRebuildDue(const Daily& daily, const NightlyRecord& record, TimeUs now);

// When its life begins that is built now.
TimeUs LifeBegins(const Daily& daily, TimeUs day, TimeUs now);
// Nothing: it lives for ever.
std::optional<TimeUs> LifeEnds(const Daily& daily, const NightlyRecord& record);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_NIGHTLY_SCHEDULE_H_
