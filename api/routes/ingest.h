// POST /v1/streams/{stream}/events, in three steps around the commit: PrepareIngest (undo the
// encoding, decode, map; all CPU, on the connection's thread), Store::Submit, AnswerIngest.
#ifndef TALLYD_API_ROUTES_INGEST_H_
#define TALLYD_API_ROUTES_INGEST_H_

#include <memory>
#include <optional>
#include <string>

#include "api/context.h"
#include "api/request.h"
#include "api/response.h"
#include "ingest/decode.h"
#include "ingest/event_batch.h"

namespace tallyd {

// Buffers reused from request to request; one request at a time.
struct IngestWorkspace {
  EventDecoder decoder;
  EventBatch events;
  std::string decoded;
};

struct IngestPlan {
  std::optional<Response>
      response;  // Set: the answer is known already, nothing is to be committed.
  std::unique_ptr<Batch> batch;
  MapOutcome outcome;
};

// What can be said before the body is read: an unknown stream, type, encoding or parameter. Empty:
// go on.
std::optional<Response> CheckIngest(const Request& request, ApiContext& context);

IngestPlan PrepareIngest(const Request& request, ApiContext& context, IngestWorkspace& workspace);
Response AnswerIngest(const IngestPlan& plan, const Status& committed, ApiContext& context);

}  // namespace tallyd

#endif  // TALLYD_API_ROUTES_INGEST_H_
