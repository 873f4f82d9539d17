#include "service/access/token_table.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <memory>
#include <optional>

namespace tallyd {

TokenTable::TokenTable(const std::vector<TokenConfig>& tokens, const TokenTable& before) {
  for (const TokenConfig& token : tokens) {
    const auto known = before.by_name_.find(token.name);
    const bool is_same = known != before.by_name_.end() && known->second.config == token;
    const PrincipalPtr principal =
        is_same ? known->second.principal
                : std::make_shared<const Principal>(
                      Principal{token.name, token.roles, token.scope, token.expires});
    const std::optional<TokenDigest> digest = DigestOfHex(token.sha256);
    assert(digest);
    if (!digest) continue;
    by_digest_.push_back({*digest, principal});
    by_name_.emplace(token.name, Entry{token, principal});
  }
  std::ranges::sort(by_digest_, {}, &Found::digest);
}

// Where a digest lies among others tells nothing of a token that nobody can make from it; whether
// it is the one is compared in constant time.
PrincipalPtr TokenTable::Find(std::string_view token) const {
  const std::optional<TokenDigest> digest = DigestOf(token);
  if (!digest) return nullptr;
  const auto found = std::ranges::lower_bound(by_digest_, *digest, {}, &Found::digest);
  if (found == by_digest_.end() || !SameDigest(found->digest, *digest)) return nullptr;
  return found->principal;
}

PrincipalPtr TokenTable::Named(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.principal;
}

bool TokenTable::Has(const Principal& principal) const {
  const auto found = by_name_.find(principal.name);
  return found != by_name_.end() && found->second.principal.get() == &principal;
}

TimeUs TokenTable::NextExpiry(TimeUs now) const {
  TimeUs next = std::numeric_limits<TimeUs>::max();
  for (const auto& [name, entry] : by_name_) {
    if (entry.config.expires > now) next = std::min(next, entry.config.expires);
  }
  return next;
}

TokenChanges TokenChanges::Between(const TokenTable& before, const TokenTable& after) {
  TokenChanges changes;
  for (const auto& [name, entry] : after.by_name_) {
    const PrincipalPtr known = before.Named(name);
    if (known == nullptr) changes.added.push_back(name);
    if (known != nullptr && known != entry.principal) changes.changed.push_back(name);
  }
  for (const auto& [name, entry] : before.by_name_) {
    if (after.Named(name) == nullptr) changes.removed.push_back(name);
  }
  return changes;
}

}  // namespace tallyd
