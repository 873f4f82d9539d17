#include "config/file/host.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>
#include <string>

namespace tallyd {
namespace {

constexpr size_t kMaxHostBytes = 253;  // RFC 1035, section 2.3.4, without the root's dot.

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsNameByte(char c) {
  c = Lower(c);
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

std::optional<in6_addr> BracketedAddress(std::string_view text) {
  if (text.find('\0') != text.npos) return std::nullopt;  // Where inet_pton stops.
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  in6_addr address;
  const std::string inner(text.substr(1, text.size() - 2));
  if (inet_pton(AF_INET6, inner.c_str(), &address) != 1) return std::nullopt;
  return address;
}

}  // namespace

bool IsLoopbackHost(std::string_view host) {
  if (!IsHost(host)) return false;
  if (IsSameHost(host, "localhost")) return true;
  in_addr v4;
  if (inet_pton(AF_INET, std::string(host).c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  const std::optional<in6_addr> v6 = BracketedAddress(host);
  return v6 && IN6_IS_ADDR_LOOPBACK(&*v6);
}

bool IsHost(std::string_view text) {
  if (text.empty() || text.size() > kMaxHostBytes) return false;
  if (text.front() == '[') return BracketedAddress(text).has_value();
  return std::all_of(text.begin(), text.end(), IsNameByte);
}

bool IsSameHost(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

}  // namespace tallyd
