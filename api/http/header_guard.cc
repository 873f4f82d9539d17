#include "api/http/header_guard.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <charconv>
#include <string>

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

Status CheckAuthority(std::string_view authority, std::string_view where) {
  if (!authority.empty() && std::all_of(authority.begin(), authority.end(), IsHostCharacter)) {
    return {};
  }
  return Invalid(std::string(where) + " does not name a host and port");
}

Status CheckHost(const RequestHeader& header) {
  const size_t hosts = CountFields(header, http::field::host);
  if (hosts == 0 && header.version() == 10) return {};
  if (hosts != 1) return Invalid("exactly one Host header is required");
  return CheckAuthority(View(header[http::field::host]), "the Host header");
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
  size_t lines = 0;
  while (raw != "\r\n") {
    if (lines++ > kMaxHeaderLines) {
      return Error(ErrorCode::kTooLarge, "the header has more than 256 lines");
    }
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
  const std::string_view length = View(header[http::field::content_length]);
  if (lengths > 1 || length.find_first_not_of("0123456789") != length.npos) {
    return Invalid("more than one Content-Length");
  }
  return CheckHost(header);
}

Result<RequestTarget> ParseTarget(std::string_view target, http::verb method) {
  RequestTarget parts;
  if (target == "*" && method == http::verb::options) {
    parts.path = target;
    return parts;
  }
  if (!target.starts_with('/')) {
    const size_t scheme = target.find("://");
    const std::string_view name = target.substr(0, std::min(scheme, target.size()));
    if (scheme == target.npos ||
        (!boost::beast::iequals(name, "http") && !boost::beast::iequals(name, "https"))) {
      return Invalid("the request target must be a path that begins with /, or an http URL");
    }
    target.remove_prefix(scheme + 3);
    const size_t end = std::min(target.find_first_of("/?"), target.size());
    parts.authority = target.substr(0, end);
    if (Status ok = CheckAuthority(parts.authority, "the request target"); !ok) return ok.error();
    target.remove_prefix(end);
  }
  const size_t question = std::min(target.find('?'), target.size());
  parts.path = question == 0 ? "/" : target.substr(0, question);
  parts.query = target.substr(std::min(question + 1, target.size()));
  return parts;
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
