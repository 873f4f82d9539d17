#include "api/http/wire.h"

#include <fmt/format.h>

namespace tallyd {

void AppendHead(const Response& response, const HeadOptions& options, std::string* out) {
  auto to = std::back_inserter(*out);
  fmt::format_to(to, "HTTP/1.1 {} {}\r\nContent-Type: {}\r\n", response.status,
                 ReasonPhrase(response.status), response.content_type);
  for (const auto& [name, value] : response.headers) {
    fmt::format_to(to, "{}: {}\r\n", name, value);
  }
  *out += "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  if (options.chunked) {
    *out += "Transfer-Encoding: chunked\r\n";
  } else if (options.has_length) {
    fmt::format_to(to, "Content-Length: {}\r\n", response.body.size());
  }
  if (!options.keep_alive) {
    *out += "Connection: close\r\n";
  } else if (options.http10) {
    *out += "Connection: keep-alive\r\n";
  }
  *out += "\r\n";
}

}  // namespace tallyd
