#include "config/file/exposure.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "config/file/host.h"

namespace tallyd {
namespace {

std::string_view HostOfListen(std::string_view at) { return at.substr(0, at.rfind(':')); }

bool IsHostAddress(std::string_view host) {
  if (!IsHost(host)) return false;
  if (host.front() == '[' || IsSameHost(host, "localhost")) return true;
  in_addr v4;
  return inet_pton(AF_INET, std::string(host).c_str(), &v4) == 1;
}

}  // namespace

bool IsListenAddress(std::string_view at) {
  const size_t colon = at.rfind(':');
  if (colon == at.npos) return false;
  const char* const digits = at.data() + colon + 1;
  const char* const end = at.data() + at.size();
  uint16_t port = 0;
  const auto [rest, wrong] = std::from_chars(digits, end, port);
  return digits != end && wrong == std::errc() && rest == end && IsHostAddress(HostOfListen(at));
}

bool IsLoopbackAddress(std::string_view at) { return IsLoopbackHost(HostOfListen(at)); }

Status CheckExposure(std::span<const ListenAddress> listen, bool has_tokens, bool plaintext) {
  for (const ListenAddress& address : listen) {
    if (IsLoopbackAddress(address.at)) continue;
    if (!has_tokens) {
      return Invalid("server.listen: " + address.at +
                     " is beyond loopback, where anybody who reaches it may do everything; "
                     "accepted: with [[auth.tokens]] (`tallyd token` makes one), or on loopback: "
                     "127.0.0.0/8, [::1], localhost");
    }
    if (!address.tls && !plaintext) {
      return Invalid("server.listen: " + address.at +
                     " is beyond loopback, and without TLS tokens and data pass in clear; "
                     "accepted: { at = \"" + address.at +
                     "\", tls = true } with [server.tls], or server.plaintext = true where a "
                     "proxy or a container's network in front sees to that");
    }
  }
  return {};
}

}  // namespace tallyd
