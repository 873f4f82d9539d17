// SeriesJoin: the points of several series as those of one, made while they are pulled.
//
//   SeriesJoin join(set, group, SeriesAggregation::kSum);
//   while (join.Next()) ... join.point()
//
// There is a point at each time at which any of the series has one. By aggregations that
// interpolate, a series without a point there counts with what lies on the line between the one
// before and the one behind, and not at all before its first and behind its last; by others it
// counts where it has a point. Blanks count nowhere; a point of nothing but blanks is one.
//
// A point costs a step for each series that counts there: with interpolation for all that began
// and have not ended, so many series without a point in common cost the product of their numbers.
//
// The set outlives it. Not thread-safe.
#ifndef TALLYD_SERVICE_POINTS_SERIES_JOIN_H_
#define TALLYD_SERVICE_POINTS_SERIES_JOIN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "service/points/point_set.h"
#include "service/points/series_aggregation.h"
#include "service/points/series_groups.h"

namespace tallyd {

class SeriesJoin {
 public:
  SeriesJoin(const PointSet& set, const SeriesGroup& group, SeriesAggregation joined_by);

  // To the next point, in order of time; false at the end.
  bool Next();
  const SeriesPoint& point() const { return point_; }

 private:
  struct Member {
    const std::vector<SeriesPoint>* points = nullptr;
    size_t next = 0;  // The first that has not been told.
  };

  // A member and the time of its next point.
  using Due = std::pair<TimeUs, uint32_t>;

  // Adds what the member counts with at that time, and moves behind it.
  void Count(TimeUs time, Member* member);
  // Of members that have a point at the time at hand: those that begin, and those that ended.
  void AddBegun();
  void DropEnded();

  const SeriesAggregation joined_by_;
  const bool interpolates_;
  SeriesFold fold_;
  std::vector<Member> members_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> next_;
  std::vector<uint32_t> due_;   // That have a point at the time at hand, ascending.
  std::vector<uint32_t> live_;  // That began and have not ended, ascending; where it interpolates.
  std::vector<Value> numbers_;  // At the time at hand.
  SeriesPoint point_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_POINTS_SERIES_JOIN_H_
