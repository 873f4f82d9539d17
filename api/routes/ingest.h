// The steps of POST /v1/streams/{stream}/events around the body and the commit, which
// ingest_endpoint.h puts one behind the other: ReadIngestHead (all that can be said before the
// body: what it refuses is never sent), PrepareIngest (undo the encoding, decode, and have the
// writer map; all CPU, on the connection's thread), Writer::Submit, AnswerIngest. Each counts what
// it refuses.
#ifndef TALLYD_API_ROUTES_INGEST_H_
#define TALLYD_API_ROUTES_INGEST_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/context.h"
#include "api/endpoint/workspace.h"
#include "api/request.h"
#include "api/response.h"
#include "ingest/decode/decode.h"
#include "ingest/decode/decompress.h"
#include "service/principal.h"
#include "service/write/event_write.h"

namespace tallyd {

// What the request line and the headers say of a batch: the parameters and the form of its body.
struct IngestHead {
  PrincipalPtr principal;  // Request::principal
  std::string stream;
  std::string_view peer;  // Request::peer
  const BodyFormat* format = nullptr;
  ContentEncoding encoding = ContentEncoding::kIdentity;
  bool dry_run = false;
  bool partial = false;
  bool guarded = true;  // The stream's guards hold (IngestGuards).
  // The answer to what is committed is remembered for its key; null: there is none.
  const KeyClaim* claim = nullptr;
};

// kNotFound for an unknown stream, kUnsupported for a type or an encoding, kInvalid for a
// parameter.
Result<IngestHead> ReadIngestHead(const Request& request, ApiContext& context);

// What the request says, for its Idempotency-Key: two that differ in the form of the body, or in a
// parameter that changes what is stored, are two. Undoes the encoding, in the workspace and in
// *head, and tells the body then; empty: it cannot be undone, which PrepareIngest refuses.
std::optional<KeyedRequest> KeyedBatch(std::string_view key, IngestHead* head,
                                       std::string_view* body, ApiContext& context,
                                       IngestWorkspace& workspace);

struct PreparedBatch {
  std::optional<Response> response;  // Set: the answer is known, nothing is to be committed.
  EventWrite write;
};

// `body` has kBodyPadding readable bytes behind it.
PreparedBatch PrepareIngest(const IngestHead& head, std::string_view body, ApiContext& context,
                            IngestWorkspace& workspace);
Response AnswerIngest(const IngestHead& head, PreparedBatch& prepared, const Status& committed,
                      ApiContext& context);

}  // namespace tallyd

#endif  // TALLYD_API_ROUTES_INGEST_H_
