// What Beast 1.81 lets through and a careful server must not: ambiguous framing that a proxy in
// front could read differently, and header tricks. Pure functions over bytes and a parsed header.
#ifndef TALLYD_API_HTTP_HEADER_GUARD_H_
#define TALLYD_API_HTTP_HEADER_GUARD_H_

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <optional>
#include <string_view>

#include "config/values/result.h"

namespace tallyd {

inline constexpr size_t kMaxTargetBytes = 16u << 10;
inline constexpr size_t kMaxHeaderBytes = 64u << 10;

inline constexpr size_t kMaxHeaderLines = 256;

// The raw header, its last CRLF CRLF included, or the last chunk of a body with its trailers, whose
// first line is the chunk's size: refuses folded lines, bare CR or LF, NUL, white space before a
// colon; as kTooLarge more lines than kMaxHeaderLines, each of which would be an allocation.
Status CheckRawHeader(std::string_view raw);

using RequestHeader = boost::beast::http::request_header<boost::beast::http::fields>;

// The parts of a request target, as sent. Views of it.
struct RequestTarget {
  std::string_view authority;  // "localhost:8780" of an absolute target; else empty.
  std::string_view path;
  std::string_view query;
};

// "/path?query" or, as a proxy is asked and every server must understand (RFC 9112, section 3.2.2),
// "http://host:port/path?query"; of OPTIONS also "*", which is about the daemon as a whole. Refuses
// all else.
Result<RequestTarget> ParseTarget(std::string_view target, boost::beast::http::verb method);

// Refuses: any Transfer-Encoding but exactly one "chunked", Transfer-Encoding with Content-Length
// or on HTTP/1.0, more than one Content-Length or a list of them, not exactly one valid Host
// (HTTP/1.0 may have none).
Status CheckHeader(const RequestHeader& header);

// The declared length of the body: empty when it is chunked.
std::optional<uint64_t> DeclaredLength(const RequestHeader& header);
bool IsChunked(const RequestHeader& header);

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_HEADER_GUARD_H_
