#include "api/access/credentials.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>

#include "config/access/token_config.h"
#include "ingest/text/json_text.h"

namespace tallyd {

namespace {

constexpr std::string_view kTokenStarts[] = {kTokenStart, "tly%5F"};  // As it is, and in a URL.
constexpr std::string_view kLeftOut = "...";

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t";
  const size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

bool IsTokenByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '%';  // The last of a byte that is percent-encoded.
}

bool BeginsToken(std::string_view text, size_t at) {
  return std::ranges::any_of(kTokenStarts, [&](std::string_view start) {
    return boost::beast::iequals(text.substr(at, start.size()), start);
  });
}

// A token, or the value of a parameter "p", begins at `at`.
bool BeginsSecret(std::string_view text, size_t at) {
  if (BeginsToken(text, at)) return true;
  return at >= 3 && text[at - 1] == '=' && text[at - 2] == 'p' &&
         (text[at - 3] == '?' || text[at - 3] == '&');
}

}  // namespace

std::string_view TokenOf(std::string_view authorization, std::string* decoded) {
  const std::string_view text = Trimmed(authorization);
  const size_t space = std::min(text.find(' '), text.size());
  const std::string_view scheme = text.substr(0, space);
  const std::string_view rest = Trimmed(text.substr(space));
  using boost::beast::iequals;
  if (iequals(scheme, "Bearer") || iequals(scheme, "Token")) return rest;
  if (!iequals(scheme, "Basic") || !DecodeBase64(rest, decoded)) return {};
  const std::string_view pair = *decoded;
  const size_t colon = pair.find(':');
  return colon == pair.npos ? std::string_view() : pair.substr(colon + 1);
}

std::string WithoutTokens(std::string_view path_and_query) {
  std::string shown;
  size_t at = 0;
  while (at < path_and_query.size()) {
    if (!BeginsSecret(path_and_query, at)) {
      shown.push_back(path_and_query[at++]);
      continue;
    }
    const bool is_token = BeginsToken(path_and_query, at);
    while (at < path_and_query.size() &&
           (is_token ? IsTokenByte(path_and_query[at]) : path_and_query[at] != '&')) {
      ++at;
    }
    shown.append(kLeftOut);
  }
  return shown;
}

}  // namespace tallyd
