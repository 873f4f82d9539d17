// JSON: one event object, an array of them, or {"events": [...]} (an object whose only member is
// "events", holding an array). NDJSON: an event a line; blank lines are none, and a bad line is an
// error of its own. Nested objects flatten with '/'; null members are absent.
#ifndef TALLYD_INGEST_DECODE_JSON_BODY_H_
#define TALLYD_INGEST_DECODE_JSON_BODY_H_

#include <memory>

#include "ingest/decode/body_decoder.h"

namespace tallyd {

std::unique_ptr<BodyDecoder> MakeJsonBody();
std::unique_ptr<BodyDecoder> MakeNdjsonBody();

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_JSON_BODY_H_
