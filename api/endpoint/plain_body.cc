#include "api/endpoint/plain_body.h"

#include "ingest/decode/body_decoder.h"

namespace tallyd {
namespace {

// One that is compressed is ten times as much.
constexpr size_t kLargeBody = 1u << 20;
constexpr size_t kLargeCompressed = 100u << 10;

}  // namespace

Result<ContentEncoding> EncodingOf(const Request& request) {
  const auto encoding = ParseContentEncoding(request.content_encoding);
  if (encoding) return *encoding;
  return Error(ErrorCode::kUnsupported,
               "the Content-Encodings understood here are gzip, zstd, snappy and deflate");
}

Result<std::string_view> PlainBody(ContentEncoding encoding, std::string_view body,
                                   ApiContext& context, IngestWorkspace& workspace) {
  if (encoding == ContentEncoding::kIdentity) return body;
  Status ok = Decompress(encoding, body, context.server.max_body, &workspace.decoded);
  if (!ok) return ok.error();
  workspace.decoded.reserve(workspace.decoded.size() + kBodyPadding);
  return std::string_view(workspace.decoded);
}

bool TakesLong(const Exchange& exchange) {
  const bool is_plain = exchange.request.content_encoding.empty();
  return exchange.body.bytes.size() >= (is_plain ? kLargeBody : kLargeCompressed);
}

}  // namespace tallyd
