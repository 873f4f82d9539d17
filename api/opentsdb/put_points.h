// Data points of OpenTSDB on their way into the store, whoever brought them (/api/put, telnet): the
// good ones are stored, in one commit, and of the others it is told why they are not.
//
//   PointWrite put = PreparePoints(who, stream, &points, &events, context);  // All CPU.
//   if (put.error) ...      // None is stored, for a reason of the daemon.
//   if (put.write.state == EventWrite::State::kReady) ...  // By the writer, as all events are.
#ifndef TALLYD_API_OPENTSDB_PUT_POINTS_H_
#define TALLYD_API_OPENTSDB_PUT_POINTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/context.h"
#include "config/values/result.h"
#include "ingest/decode/event_batch.h"
#include "ingest/points/data_points.h"
#include "service/principal.h"
#include "service/write/event_write.h"

namespace tallyd {

struct PointWrite {
  EventWrite write;
  std::optional<Error> error;
  size_t stored = 0;  // Points that are, once `write` is committed.
  size_t failed = 0;
  // Of those that failed, in their order; not all where they are many.
  std::vector<PointError> errors;
};

// What the stream's events look like; kNotFound where the file has no such stream.
Result<PointEventForm> FormOfStream(const std::string& stream, const ApiContext& context);

// `points` were read; `events` is of the caller, so that its memory serves the next ones. Refused
// points are counted for the metrics. An event that its tables refuse is tried again point by
// point, so that none fails for another's fault.
PointWrite PreparePoints(const PrincipalPtr& who, const std::string& stream, std::string_view peer,
                         DataPoints* points, RequestEvents* events, ApiContext& context);

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_PUT_POINTS_H_
