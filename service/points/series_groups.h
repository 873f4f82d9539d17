// Series that are joined: those that agree in the tags that group; by `none` each stands alone.
#ifndef TALLYD_SERVICE_POINTS_SERIES_GROUPS_H_
#define TALLYD_SERVICE_POINTS_SERIES_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "service/points/point_set.h"
#include "service/points/series_question.h"

namespace tallyd {

struct SeriesGroup {
  std::vector<size_t> members;  // Places in PointSet::series, which ascend.
  // By places in PointSet::tags: those that all members have, with one value, and with several.
  // A tag that not all of them have is in neither.
  std::vector<std::pair<uint32_t, std::string>> tags;
  std::vector<uint32_t> joined_tags;
};

// In the order of the values of the tags that group.
std::vector<SeriesGroup> GroupSeries(const SeriesQuestion& question, const PointSet& set);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_POINTS_SERIES_GROUPS_H_
