// The head of an answer as bytes. Written by hand because Beast's prepare_payload throws on answers
// without a body and its serializer allocates per header; the framing rules of RFC 9112 are these
// few lines.
#ifndef TALLYD_API_HTTP_WIRE_H_
#define TALLYD_API_HTTP_WIRE_H_

#include <optional>
#include <string>
#include <string_view>

#include "api/response.h"
#include "config/values/time.h"

namespace tallyd {

struct HeadOptions {
  bool keep_alive = true;
  // Otherwise Content-Length of the body, or, without `has_length`, until close.
  bool chunked = false;
  bool has_length = true;
  bool http10 = false;
  TimeUs now = 0;
  // Set where answers depend on the page that asks: its origin, if that is one of server.cors, or
  // empty (api/cors.h).
  std::optional<std::string_view> cors;
};

void AppendHead(const Response& response, const HeadOptions& options, std::string* out);

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_WIRE_H_
