// What a request's body is once its Content-Encoding is undone, for endpoints that decode bodies.
#ifndef TALLYD_API_ENDPOINT_PLAIN_BODY_H_
#define TALLYD_API_ENDPOINT_PLAIN_BODY_H_

#include <string_view>

#include "api/endpoint/endpoint.h"
#include "config/values/result.h"
#include "ingest/decode/decompress.h"

namespace tallyd {

// The encoding that the request names; kUnsupported: one that is not understood here.
Result<ContentEncoding> EncodingOf(const Request& request);
// Undoes the encoding into the workspace. The view has kBodyPadding readable bytes behind it, as
// `body` has; kTooLarge and kInvalid as Decompress tells.
Result<std::string_view> PlainBody(ContentEncoding encoding, std::string_view body,
                                   ApiContext& context, IngestWorkspace& workspace);
// Whether the body is so large that it is to be decoded elsewhere (EndpointThreads::decoding): a
// millisecond or two of work, for which others of the connection's thread are not to wait.
bool TakesLong(const Exchange& exchange);

}  // namespace tallyd

#endif  // TALLYD_API_ENDPOINT_PLAIN_BODY_H_
