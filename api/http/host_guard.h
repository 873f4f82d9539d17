// Until there are access tokens, loopback is the only lock, and every web page in a browser on this
// machine stands inside of it: by a name of its own that it lets point to 127.0.0.1, or by sending
// to localhost what needs no answer. The browser tells both, by Host and by Origin; this compares
// them with the names that the daemon goes by: loopback, and `server.hosts`. Ports and schemes do
// not count: who serves pages on this machine's loopback needs no browser.
#ifndef TALLYD_API_HTTP_HOST_GUARD_H_
#define TALLYD_API_HTTP_HOST_GUARD_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/header_guard.h"

namespace tallyd {

// The host of "host", "host:80" or "[::1]:80"; empty when it is none of these.
std::string_view HostOf(std::string_view authority);

// Why a request is refused with 403; empty when it is not. Its target's authority counts before its
// Host header (RFC 9112, section 3.2.2); HTTP/1.0, which no browser speaks, may have neither.
std::optional<std::string> ForeignSite(const RequestHeader& header, const RequestTarget& target,
                                       const std::vector<std::string>& hosts);

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_HOST_GUARD_H_
