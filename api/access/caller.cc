#include "api/access/caller.h"

#include <openssl/crypto.h>

#include "api/access/credentials.h"

namespace tallyd {

bool Caller::Knows(std::string_view authorization) const {
  return principal_ != nullptr && authorization.size() == authorization_.size() &&
         CRYPTO_memcmp(authorization.data(), authorization_.data(), authorization.size()) == 0;
}

void Caller::Forget() {
  OPENSSL_cleanse(authorization_.data(), authorization_.size());
  authorization_.clear();
  principal_ = nullptr;
}

PrincipalPtr Caller::Identify(const LiveTokens& tokens, std::string_view authorization,
                              TimeUs now) {
  const uint64_t generation = tokens.generation();
  if (generation == generation_ && Knows(authorization)) {
    return principal_->expires > now ? principal_ : nullptr;
  }
  Forget();
  std::string decoded;
  const std::string_view token = TokenOf(authorization, &decoded);
  PrincipalPtr principal = tokens.Find(token, now);
  OPENSSL_cleanse(decoded.data(), decoded.size());
  if (principal != nullptr && authorization.size() <= kMaxKeptBytes) {
    authorization_ = authorization;
    principal_ = principal;
    generation_ = generation;
  }
  return principal;
}

}  // namespace tallyd
