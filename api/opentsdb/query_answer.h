// The answer to /api/query, written while the client takes it: what was read of each sub-query is
// joined, group by group and point by point.
#ifndef TALLYD_API_OPENTSDB_QUERY_ANSWER_H_
#define TALLYD_API_OPENTSDB_QUERY_ANSWER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/opentsdb/query_request.h"
#include "api/response.h"
#include "service/points/point_set.h"
#include "service/points/series_groups.h"
#include "service/points/series_join.h"

namespace tallyd {

// The tags that all members of the group have with one value, as an object; and one of a series.
Json JsonOfTags(const PointSet& set, const SeriesGroup& group);
Json JsonOfTags(const PointSet& set, const PointSeries& series);
std::string TsuidOf(const std::string& metric, const PointSet& set, const PointSeries& series);

class OpentsdbAnswer final : public AnswerSource {
 public:
  // `found`: of each of query.queries.
  OpentsdbAnswer(OpentsdbQuery query, std::vector<PointSet> found);

  Result<Pulled> Pull(std::string* chunk, const Wake& wake) override;

 private:
  void BeginGroup(std::string* chunk);
  void AppendPoint(const SeriesPoint& point, std::string* chunk) const;

  const OpentsdbQuery query_;
  const std::vector<PointSet> found_;
  size_t at_ = 0;                    // The sub-query.
  std::vector<SeriesGroup> groups_;  // Of it.
  bool is_grouped_ = false;
  size_t group_ = 0;
  std::optional<SeriesJoin> join_;  // Of the group at hand.
  bool begun_ = false;
  bool any_group_ = false;
  bool any_point_ = false;  // Of the group.
};

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_QUERY_ANSWER_H_
