// Reads the series that a question asks of: its events, in the table and by the ranges that the
// planner finds, as they are or as the steps that `step` makes of them, apart by their tags; then
// what stands in empty steps, and rates. What joins them is series_groups.h.
#ifndef TALLYD_SERVICE_POINTS_READ_SERIES_H_
#define TALLYD_SERVICE_POINTS_READ_SERIES_H_

#include "config/values/result.h"
#include "service/access/schema_view.h"
#include "service/limits/query_memory.h"
#include "service/points/point_set.h"
#include "service/points/series_question.h"
#include "service/read_parts.h"

namespace tallyd {

// What nobody's filters can want is an empty set, and so is what nobody ever wrote. `memory`: where
// what is held counts; null: nowhere. kTooLarge, which names a tag that would bound it: there is no
// room for all that would be held, nor ever will be. kInvalid: a filter is none, or no table holds
// the metric's events. Else the errors of reads.
Result<PointSet> ReadSeries(const SeriesQuestion& question, const Access& access,
                            const ReadParts& parts, const ReadMemoryPtr& memory);

// The latest table of the metric's stream that holds it and whose key tells all tags that events of
// the stream had; null where there is none.
const Table* FindLatest(const Schema& schema, const MetricField& metric, const Store& store);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_POINTS_READ_SERIES_H_
