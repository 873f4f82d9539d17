// CopyDay: makes a table hold the rows of one UTC day of another one of the same shape, and nothing
// else, cell by cell.
//
// 1. The row key's ranges for the day are scanned, and of them what has cells of that day: which
//    files of blocks those are, their windows tell. Where the table has strays (late_days.h) all of
//    the ranges are. A row whose key is of another day, or that the
//    template cannot have made, is passed over.
// 2. What one event left in a row becomes one entry again, under the same columns; rows go into
//    batches of about a MiB.
// 3. Beside it what the table has already is scanned, where it begins with something: what is the
//    same there is not written again, what differs is, and what is of the day no more is deleted.
//    However often that is broken off, and whoever begins it again, it ends with the same table.
// 4. A scan is not kept for long: after some rows it ends, and another goes on behind the last row.
//    So each row is copied as of one moment, and the day as a whole is not: whoever copies sees to
//    what is written meanwhile (ingest/map/late_days.h).
#ifndef TALLYD_SERVICE_NIGHTLY_DAY_COPY_H_
#define TALLYD_SERVICE_NIGHTLY_DAY_COPY_H_

#include <cstdint>
#include <functional>

#include "config/schema/schema.h"
#include "service/write/writer.h"
#include "storage/store.h"

namespace tallyd {

struct DayCounts {
  uint64_t rows = 0;
  uint64_t cells = 0;
  friend bool operator==(const DayCounts&, const DayCounts&) = default;
};

struct DayCopy {
  const Table& source;  // In the schema.
  TimeUnit unit;        // The stream's.
  TablePtr from;
  TablePtr to;  // Nobody else writes to it.
  TimeUs day = 0;
  TimeUs now = 0;  // For GC by age.
  bool has_strays = false;
};

// `go_on` hears what was copied before each batch is committed, and after many rows without one;
// its error ends the copy. The counts are of what the table holds.
Result<DayCounts> CopyDay(Store& store, Writer& writer, const DayCopy& copy,
                          const std::function<Status(const DayCounts&)>& go_on);

// Whether the table has any row of that day. `between` is asked as often; its error ends the
// search.
Result<bool> HasDay(Store& store, const DayCopy& copy, const std::function<Status()>& between);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_NIGHTLY_DAY_COPY_H_
