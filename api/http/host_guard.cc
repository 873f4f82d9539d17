#include "api/http/host_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <iterator>

#include "config/file/host.h"

namespace tallyd {

namespace http = boost::beast::http;

namespace {

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool IsOwn(std::string_view host, const std::vector<std::string>& hosts) {
  if (IsLoopbackHost(host)) return true;
  return std::any_of(hosts.begin(), hosts.end(),
                     [host](const std::string& own) { return IsSameHost(host, own); });
}

// "https://tallyd.example.org:8443" -> "tallyd.example.org". Empty for "null" and whatever else.
std::string_view HostOfOrigin(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == origin.npos ? std::string_view() : HostOf(origin.substr(scheme + 3));
}

bool Changes(http::verb method) {
  return method != http::verb::get && method != http::verb::head && method != http::verb::options &&
         method != http::verb::trace;
}

// Or will, where a page asks beforehand.
bool BringsAuthorization(const RequestHeader& header) {
  if (header.find(http::field::authorization) != header.end()) return true;
  if (header.method() != http::verb::options) return false;
  const http::token_list announced(header["Access-Control-Request-Headers"]);
  return std::any_of(announced.begin(), announced.end(), [](boost::beast::string_view name) {
    return boost::beast::iequals(name, "authorization");
  });
}

}  // namespace

std::string_view HostOf(std::string_view authority) {
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == authority.npos) return {};
  const size_t colon = std::min(authority.find(':', bracket), authority.size());
  const std::string_view host = authority.substr(0, colon);
  const std::string_view port = authority.substr(std::min(colon + 1, authority.size()));
  const bool digits = port.find_first_not_of("0123456789") == port.npos;
  return digits && IsHost(host) ? host : std::string_view();
}

std::optional<std::string> ForeignSite(const RequestHeader& header, const RequestTarget& target,
                                       const OwnSites& own) {
  if (own.with_tokens && BringsAuthorization(header)) return std::nullopt;
  const std::string_view without =
      own.with_tokens ? "without Authorization" : "without access tokens";
  const std::string_view authority =
      target.authority.empty() ? View(header[http::field::host]) : target.authority;
  if (!authority.empty() && !IsOwn(HostOf(authority), own.hosts)) {
    return fmt::format(
        "{} is not a name of this daemon: {} it answers to loopback and to server.hosts only",
        authority, without);
  }
  if (!Changes(header.method())) return std::nullopt;
  const auto [begin, end] = header.equal_range(http::field::origin);
  for (auto field = begin; field != end; ++field) {
    const std::string_view origin = View(field->value());
    if (IsOwn(HostOfOrigin(origin), own.hosts) || own.cors.Has(origin)) continue;
    return fmt::format(
        "a page of the origin {} may change nothing here: {} only pages of loopback, of "
        "server.hosts and of server.cors may",
        origin, without);
  }
  return std::nullopt;
}

std::string_view CorsOriginOf(const RequestHeader& header, const CorsOrigins& cors) {
  if (!cors.any()) return {};
  const auto [begin, end] = header.equal_range(http::field::origin);
  if (begin == end || std::next(begin) != end) return {};
  const std::string_view origin = View(begin->value());
  return cors.Has(origin) ? origin : std::string_view();
}

}  // namespace tallyd
