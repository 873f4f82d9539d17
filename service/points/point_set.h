// PointSet: the series of one metric with their points, as a question finds them.
#ifndef TALLYD_SERVICE_POINTS_POINT_SET_H_
#define TALLYD_SERVICE_POINTS_POINT_SET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "config/values/time.h"
#include "config/values/value.h"
#include "service/limits/query_memory.h"

namespace tallyd {

struct SeriesPoint {
  TimeUs time = 0;
  Value value;  // A number; null: a blank.
};

struct PointSeries {
  // By places in PointSet::tags, which ascend; tags that it does not have are left out.
  std::vector<std::pair<uint32_t, std::string>> tags;
  std::vector<SeriesPoint> points;  // Times ascend, none comes twice.

  // Null where it does not have the tag.
  const std::string* TagAt(uint32_t place) const {
    const auto found =
        std::ranges::lower_bound(tags, place, {}, &std::pair<uint32_t, std::string>::first);
    return found != tags.end() && found->first == place ? &found->second : nullptr;
  }
};

struct PointSet {
  std::vector<std::string> tags;    // Names, in byte order.
  std::vector<PointSeries> series;  // In the order of their tags.
  bool complete = true;             // False: no table holds everything, and points may be missing.
  MemoryCharge held;
  uint64_t bytes = 0;  // What it holds, of which `held` has made sure.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_POINTS_POINT_SET_H_
