// A body of line protocol made ready to be written: decoded, mapped, and the answer that holds once
// what is good of it is durable. All CPU, on whatever thread.
//
// What becomes of a request that is good in part is its dialect's:
//
//   v1  good lines are stored: 400 `partial write: ... dropped=N`; no line could be read: 400
//   v2  a line that cannot be read: 400, nothing is stored; one that cannot be stored: 422, the
//       others are
//   v3  good lines are stored, 400 with a list of the bad ones; accept_partial=false: nothing is
#ifndef TALLYD_API_INFLUX_WRITE_LINES_H_
#define TALLYD_API_INFLUX_WRITE_LINES_H_

#include <optional>
#include <string_view>

#include "api/context.h"
#include "api/endpoint/workspace.h"
#include "api/influx/influx_form.h"
#include "api/influx/write_head.h"
#include "config/schema/protocols.h"
#include "service/principal.h"
#include "service/write/event_write.h"

namespace tallyd {

struct InfluxWrite {
  EventWrite write;
  bool to_commit = false;  // `write` is to be submitted; else `answer` is final.
  Response answer;
};

// Who asks, by which section of the configuration, and in which dialect.
struct InfluxWriter {
  PrincipalPtr principal;
  std::string_view peer;
  const InfluxConfig& protocol;
  InfluxDialect dialect = InfluxDialect::kV1;
};

// `body` has kBodyPadding readable bytes behind it. Counts what it refuses.
InfluxWrite PrepareLines(const InfluxWriter& who, const InfluxWriteHead& head,
                         std::string_view body, ApiContext& context, IngestWorkspace& workspace);

// The answer to a write that failed; counts it.
Response FailedLines(const InfluxWriter& who, const Error& error, ApiContext& context);

}  // namespace tallyd

#endif  // TALLYD_API_INFLUX_WRITE_LINES_H_
