#include "service/access/live_tokens.h"

#include <utility>

namespace tallyd {

namespace {

PrincipalPtr Unexpired(PrincipalPtr principal, TimeUs now) {
  if (principal != nullptr && principal->expires <= now) return nullptr;
  return principal;
}

}  // namespace

// Whoever sees the new generation sees the new table, and nobody is let in by there being no tokens
// once there are some.
TokenChanges LiveTokens::Set(const std::vector<TokenConfig>& tokens) {
  const std::shared_ptr<const TokenTable> before = table();
  auto after = std::make_shared<const TokenTable>(tokens, *before);
  TokenChanges changes = TokenChanges::Between(*before, *after);
  if (!after->empty()) is_open_.store(false, std::memory_order_release);
  const bool is_open = after->empty();
  std::atomic_store(&table_, std::shared_ptr<const TokenTable>(std::move(after)));
  generation_.fetch_add(1, std::memory_order_acq_rel);
  if (is_open) is_open_.store(true, std::memory_order_release);
  return changes;
}

PrincipalPtr LiveTokens::Find(std::string_view token, TimeUs now) const {
  return Unexpired(table()->Find(token), now);
}

PrincipalPtr LiveTokens::Named(std::string_view name, TimeUs now) const {
  return Unexpired(table()->Named(name), now);
}

bool LiveTokens::IsCurrent(const Principal& principal, TimeUs now) const {
  if (&principal == Anybody().get()) return is_open();
  return principal.expires > now && table()->Has(principal);
}

}  // namespace tallyd
