// Times, durations and steps of downsampling as OpenTSDB spells them: "1h-ago", "1356998400",
// "2013/01/01-00:00:00"; "30s", "1n"; "1m-avg-nan", "1dc-sum", "0all-max".
#ifndef TALLYD_API_OPENTSDB_QUERY_TIME_H_
#define TALLYD_API_OPENTSDB_QUERY_TIME_H_

#include <string_view>

#include "config/values/result.h"
#include "config/values/time.h"
#include "service/points/series_question.h"

namespace tallyd {

// What is before the epoch or behind the end of all times is moved there.
Result<TimeUs> ParseOpentsdbTime(std::string_view text, TimeUs now);
// A month is 30 days and a year 365. Positive, and no longer than all times.
Result<int64_t> ParseOpentsdbDuration(std::string_view text);

struct OpentsdbDownsample {
  SeriesDownsample downsample;
  bool uses_calendar = false;
  bool blank_is_null = false;  // And not NaN.
};

// `start`: of the whole range, where it is one step. `calendar`: as if each interval had its 'c'.
Result<OpentsdbDownsample> ParseOpentsdbDownsample(std::string_view text, TimeUs start,
                                                   bool calendar);

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_QUERY_TIME_H_
