// Every web page in a browser that reaches this daemon stands inside of what the network lets in:
// by a name of its own that it lets point to the daemon's address, or by sending to the daemon what
// needs no answer. The browser tells both, by Host and by Origin; this compares them with the names
// that the daemon goes by: loopback, and `server.hosts`. Ports and schemes do not count there: who
// serves pages on this machine's loopback needs no browser. A page of `server.cors` may send, too.
//
// With access tokens a request that brings Authorization says for itself who it is, and no browser
// adds that unasked: it is not judged here.
#ifndef TALLYD_API_HTTP_HOST_GUARD_H_
#define TALLYD_API_HTTP_HOST_GUARD_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cors.h"
#include "api/http/header_guard.h"

namespace tallyd {

// The host of "host", "host:80" or "[::1]:80"; empty when it is none of these.
std::string_view HostOf(std::string_view authority);

struct OwnSites {
  const std::vector<std::string>& hosts;
  const CorsOrigins& cors;
  bool with_tokens = false;
};

// Why a request is refused with 403; empty when it is not. Its target's authority counts before its
// Host header (RFC 9112, section 3.2.2); HTTP/1.0, which no browser speaks, may have neither. What
// a page asks for beforehand (OPTIONS) is judged as a request that changes nothing and brings
// Authorization where the page says that it will.
std::optional<std::string> ForeignSite(const RequestHeader& header, const RequestTarget& target,
                                       const OwnSites& own);

// The Origin of the request where it is one of `cors`, and the only one; else empty. A view of the
// header.
std::string_view CorsOriginOf(const RequestHeader& header, const CorsOrigins& cors);

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_HOST_GUARD_H_
