// Which series there are, and what values their tags have.
#ifndef TALLYD_SERVICE_POINTS_FIND_SERIES_H_
#define TALLYD_SERVICE_POINTS_FIND_SERIES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "service/points/read_series.h"

namespace tallyd {

// The series of question.metric that its filters want, whatever their times; of their points
// nothing is told. Errors as of ReadSeries.
Result<PointSet> FindSeries(SeriesQuestion question, const Access& access, const ReadParts& parts,
                            const ReadMemoryPtr& memory);

// The values of any tag of any stream that begin with the prefix, in byte order, each once, at most
// `limit`.
Result<std::vector<std::string>> ValuesOfTags(std::string_view prefix, size_t limit,
                                              const Access& access, const ReadParts& parts,
                                              const ReadMemoryPtr& memory);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_POINTS_FIND_SERIES_H_
