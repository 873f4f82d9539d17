// LiveTokens: the tokens in force, which a reload replaces as a whole. Without any, everybody is
// Anybody() and may everything.
//
//   PrincipalPtr who = tokens.Find(token, clock.Now());   // null: nobody
//   ...
//   if (!tokens.IsCurrent(*who, clock.Now())) ...         // revoked, changed or expired since
//
// Thread-safe.
#ifndef TALLYD_SERVICE_ACCESS_LIVE_TOKENS_H_
#define TALLYD_SERVICE_ACCESS_LIVE_TOKENS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "service/access/token_table.h"
#include "service/principal.h"

namespace tallyd {

class LiveTokens {
 public:
  LiveTokens() = default;
  LiveTokens(const LiveTokens&) = delete;
  LiveTokens& operator=(const LiveTokens&) = delete;

  // By one thread at a time. What became of the tokens.
  TokenChanges Set(const std::vector<TokenConfig>& tokens);

  // Whether there are no tokens.
  bool is_open() const { return is_open_.load(std::memory_order_acquire); }
  // Another one after each Set: what was found under the same one needs no other look.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Whom the token stands for. Null: nobody; it is unknown, no token at all, or expired.
  PrincipalPtr Find(std::string_view token, TimeUs now) const;
  // The same of a token's name, for whoever proved otherwise that it is its owner.
  PrincipalPtr Named(std::string_view name, TimeUs now) const;
  // Whether the principal, which was found here or is Anybody(), would be found again.
  bool IsCurrent(const Principal& principal, TimeUs now) const;
  TimeUs NextExpiry(TimeUs now) const { return table()->NextExpiry(now); }

 private:
  std::shared_ptr<const TokenTable> table() const { return std::atomic_load(&table_); }

  // Read and set atomically.
  std::shared_ptr<const TokenTable> table_ = std::make_shared<const TokenTable>();
  std::atomic<bool> is_open_{true};
  std::atomic<uint64_t> generation_{0};
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_ACCESS_LIVE_TOKENS_H_
