#include "config/file/origin.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "config/file/host.h"

namespace tallyd {
namespace {

constexpr std::string_view kDigits = "0123456789";

struct Parts {
  std::string scheme;
  std::string host;
  std::string port;  // Empty: there is none.
  std::string rest;  // A path, a query, a fragment.
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool IsScheme(std::string_view text) {
  if (text.empty() || text.front() < 'a' || text.front() > 'z') return false;
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == text.npos;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == text.npos;
}

std::optional<Parts> Split(std::string_view text) {
  const size_t scheme = text.find("://");
  if (scheme == text.npos) return std::nullopt;
  Parts parts;
  parts.scheme = text.substr(0, scheme);
  text.remove_prefix(scheme + 3);
  const size_t end = std::min(text.find_first_of("/?#\\"), text.size());
  parts.rest = text.substr(end);
  text = text.substr(0, end);
  const size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  const size_t colon = bracket == text.npos ? text.npos : text.find(':', bracket);
  parts.host = text.substr(0, colon);
  if (colon != text.npos) parts.port = text.substr(colon + 1);
  if (colon != text.npos && !IsDigits(parts.port)) return std::nullopt;
  return parts;
}

// Nothing: it is no port.
std::optional<std::string> PortAsSent(std::string_view scheme, std::string_view port) {
  if (port.empty()) return std::string();
  uint16_t number = 0;
  const auto [end, ec] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (ec != std::errc() || end != port.data() + port.size()) return std::nullopt;
  const bool is_own = (scheme == "http" && number == 80) || (scheme == "https" && number == 443);
  return is_own ? std::string() : std::to_string(number);
}

// A browser spells an address in one way. Nothing: the text is neither a name nor an address.
std::optional<std::string> HostAsSent(std::string_view host) {
  if (!IsHost(host)) return std::nullopt;
  const std::string lower = Lower(host);
  if (lower.front() == '[') {
    in6_addr address;
    char spelt[INET6_ADDRSTRLEN];
    if (inet_pton(AF_INET6, lower.substr(1, lower.size() - 2).c_str(), &address) != 1 ||
        inet_ntop(AF_INET6, &address, spelt, sizeof spelt) == nullptr) {
      return std::nullopt;
    }
    return "[" + std::string(spelt) + "]";
  }
  const std::string last = lower.substr(lower.rfind('.') + 1);
  in_addr address;
  if (IsDigits(last) && inet_pton(AF_INET, lower.c_str(), &address) != 1) return std::nullopt;
  return lower;
}

std::string AsSent(const Parts& parts) {
  const std::string scheme = Lower(parts.scheme);
  const std::optional<std::string> port = PortAsSent(scheme, parts.port);
  const std::optional<std::string> host = HostAsSent(parts.host);
  if (!IsScheme(scheme) || !port || !host) return {};
  return scheme + "://" + *host + (port->empty() ? "" : ":" + *port);
}

std::string WhatDiffers(const Parts& parts, std::string_view sent) {
  if (parts.rest == "/") return "ends in a slash";
  if (!parts.rest.empty()) return "has a path";
  if (Lower(parts.scheme) != parts.scheme || Lower(parts.host) != parts.host) {
    return "has capital letters";
  }
  if (!parts.port.empty() && !sent.ends_with(":" + parts.port)) {
    return sent.ends_with(parts.host) ? "names its scheme's own port" : "has a port with zeros";
  }
  return "spells its address in another way";
}

}  // namespace

std::string OriginMistake(std::string_view text) {
  if (text == "*") return "would let every page in; name each origin";
  if (text == "null") return "is what pages without an origin of their own send, whoever made them";
  const std::optional<Parts> parts = Split(text);
  const std::string sent = parts ? AsSent(*parts) : std::string();
  if (sent.empty()) return "is no origin";
  if (sent == text) return {};
  return WhatDiffers(*parts, sent) + "; a browser sends " + sent;
}

}  // namespace tallyd
