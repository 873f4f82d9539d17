// What is done about the rows that a request writes, whichever route it came by: once they are
// committed they count in the metrics, in the heat map and towards the limits of rows, and what is
// larger than recommended is told.
//
//   Status fits = parts.row_sizes.Check(rows.row_bytes);        // Before the commit.
//   std::vector<std::string> warnings = NoteWritten(rows, parts);   // Behind it.
#ifndef TALLYD_SERVICE_WRITE_NOTE_WRITTEN_H_
#define TALLYD_SERVICE_WRITE_NOTE_WRITTEN_H_

#include <string>
#include <vector>

#include "config/values/time.h"
#include "ingest/map/written_rows.h"
#include "service/heat/heat_map.h"
#include "service/limits/row_sizes.h"
#include "service/metrics/service_metrics.h"

namespace tallyd {

// What is noted in. All of it outlives the call, and is thread-safe.
struct WriteParts {
  ServiceMetrics& metrics;
  HeatMap& heat;
  RowSizes& row_sizes;
  const Clock& clock;
};

// The warnings for the answer. Thread-safe.
std::vector<std::string> NoteWritten(const WrittenRows& rows, const WriteParts& parts);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_WRITE_NOTE_WRITTEN_H_
