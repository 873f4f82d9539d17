// What a series grew a second, in place of its points: each point becomes the rate since the one
// before it, and the first one goes. Before and behind a blank there is a blank.
#ifndef TALLYD_SERVICE_POINTS_SERIES_RATE_H_
#define TALLYD_SERVICE_POINTS_SERIES_RATE_H_

#include <vector>

#include "service/points/point_set.h"
#include "service/points/series_question.h"

namespace tallyd {

void TellRates(const SeriesRate& rate, std::vector<SeriesPoint>* points);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_POINTS_SERIES_RATE_H_
