// TokenTable: the tokens of one configuration, each with the principal that it stands for. It is
// immutable; a reload makes another one (service/access/live_tokens.h), in which a token that says
// the same as before has the same principal, so that who holds one can tell whether it still
// counts.
//
// Thread-safe. Whether a token has expired is not its business: a principal says when it does.
#ifndef TALLYD_SERVICE_ACCESS_TOKEN_TABLE_H_
#define TALLYD_SERVICE_ACCESS_TOKEN_TABLE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/access/token_config.h"
#include "service/access/token_digest.h"
#include "service/principal.h"

namespace tallyd {

class TokenTable {
 public:
  TokenTable() = default;  // None.
  // REQUIRES: each sha256 is 64 lowercase hexadecimal digits; names and hashes are unique.
  TokenTable(const std::vector<TokenConfig>& tokens, const TokenTable& before);

  bool empty() const { return by_name_.empty(); }
  // The principal of a token as it was presented. Null: there is none.
  PrincipalPtr Find(std::string_view token) const;
  PrincipalPtr Named(std::string_view name) const;
  bool Has(const Principal& principal) const;
  // The next time after `now` at which a token expires; the greatest there is: none does.
  TimeUs NextExpiry(TimeUs now) const;

 private:
  friend struct TokenChanges;
  struct Entry {
    TokenConfig config;
    PrincipalPtr principal;
  };
  struct Found {
    TokenDigest digest;
    PrincipalPtr principal;
  };

  std::map<std::string, Entry, std::less<>> by_name_;
  std::vector<Found> by_digest_;  // In their order.
};

// What a reload made of the tokens, by their names: never more of them than that.
struct TokenChanges {
  std::vector<std::string> added;
  std::vector<std::string> removed;
  std::vector<std::string> changed;

  static TokenChanges Between(const TokenTable& before, const TokenTable& after);
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_ACCESS_TOKEN_TABLE_H_
