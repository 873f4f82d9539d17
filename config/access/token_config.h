// TokenConfig: one of [[auth.tokens]] (docs/configuration.md). The token itself is nowhere.
#ifndef TALLYD_CONFIG_ACCESS_TOKEN_CONFIG_H_
#define TALLYD_CONFIG_ACCESS_TOKEN_CONFIG_H_

#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "config/access/role.h"
#include "config/values/time.h"

namespace tallyd {

// What every token that `tallyd token` makes begins with, so that scanners and logs know one.
inline constexpr std::string_view kTokenStart = "tly_";

struct TokenConfig {
  std::string name;    // No other token has it.
  std::string sha256;  // Of the whole token, 64 lowercase hexadecimal digits. A secret, too.
  Roles roles;
  // Only rows and events whose fields have these values, compared as text. Empty: all of them.
  std::map<std::string, std::string> scope;
  TimeUs expires = std::numeric_limits<TimeUs>::max();  // From then on it is no token.

  friend bool operator==(const TokenConfig&, const TokenConfig&) = default;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_ACCESS_TOKEN_CONFIG_H_
