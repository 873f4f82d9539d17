#include "api/http/header_guard.h"

#include <boost/beast/core/string.hpp>
#include <charconv>

namespace tallyd {

namespace http = boost::beast::http;

namespace {

size_t CountFields(const RequestHeader& header, http::field name) {
  const auto [begin, end] = header.equal_range(name);
  return static_cast<size_t>(std::distance(begin, end));
}

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool IsHostCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-._~:[]%").find(c) != std::string_view::npos;
}

Status CheckHost(const RequestHeader& header) {
  const size_t hosts = CountFields(header, http::field::host);
  if (hosts == 0 && header.version() == 10) return {};
  if (hosts != 1) return Invalid("exactly one Host header is required");
  const std::string_view host = View(header[http::field::host]);
  if (host.empty()) return Invalid("the Host header is empty");
  for (const char c : host) {
    if (!IsHostCharacter(c)) return Invalid("the Host header is not a host and port");
  }
  return {};
}

Status CheckLine(std::string_view line, bool first) {
  if (!first && (line.starts_with(' ') || line.starts_with('\t'))) {
    return Invalid("folded header lines are not accepted");
  }
  for (const char c : line) {
    if (c == '\r' || c == '\n' || c == '\0') {
      return Invalid("control bytes in the header: lines end in CRLF");
    }
  }
  if (first) return {};
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    return Invalid("a header line is not \"name: value\"");
  }
  if (line[colon - 1] == ' ' || line[colon - 1] == '\t') {
    return Invalid("white space before the colon of a header");
  }
  return {};
}

}  // namespace

Status CheckRawHeader(std::string_view raw) {
  bool first = true;
  while (raw != "\r\n") {
    const size_t end = raw.find("\r\n");
    if (end == std::string_view::npos) return Invalid("header lines end in CRLF");
    if (Status ok = CheckLine(raw.substr(0, end), first); !ok) return ok;
    raw.remove_prefix(end + 2);
    first = false;
  }
  return {};
}

Status CheckHeader(const RequestHeader& header) {
  const size_t encodings = CountFields(header, http::field::transfer_encoding);
  const size_t lengths = CountFields(header, http::field::content_length);
  if (encodings > 0) {
    if (encodings > 1 ||
        !boost::beast::iequals(header[http::field::transfer_encoding], "chunked")) {
      return Invalid("the only Transfer-Encoding understood here is \"chunked\", once");
    }
    if (lengths > 0) return Invalid("Transfer-Encoding and Content-Length exclude each other");
    if (header.version() != 11) return Invalid("Transfer-Encoding needs HTTP/1.1");
  }
  if (lengths > 1) return Invalid("more than one Content-Length");
  if (Status ok = CheckHost(header); !ok) return ok;
  if (!header.target().starts_with('/')) {
    return Invalid("the request target must be a path that begins with /");
  }
  return {};
}

bool IsChunked(const RequestHeader& header) {
  return header.find(http::field::transfer_encoding) != header.end();
}

std::optional<uint64_t> DeclaredLength(const RequestHeader& header) {
  if (IsChunked(header)) return std::nullopt;
  const std::string_view text = View(header[http::field::content_length]);
  uint64_t length = 0;  // A malformed length was refused by the parser.
  std::from_chars(text.data(), text.data() + text.size(), length);
  return length;
}

}  // namespace tallyd
