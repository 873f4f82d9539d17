#include "service/access/token_digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace tallyd {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

std::optional<TokenDigest> DigestOf(std::string_view token) {
  if (token.empty() || token.size() > kMaxTokenBytes) return std::nullopt;
  TokenDigest digest;
  unsigned int size = 0;
  const int done =
      EVP_Digest(token.data(), token.size(), digest.data(), &size, EVP_sha256(), nullptr);
  if (done != 1 || size != digest.size()) return std::nullopt;
  return digest;
}

std::optional<TokenDigest> DigestOfHex(std::string_view hex) {
  TokenDigest digest;
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const size_t high = kHexDigits.find(hex[2 * i]);
    const size_t low = kHexDigits.find(hex[2 * i + 1]);
    if (high == kHexDigits.npos || low == kHexDigits.npos) return std::nullopt;
    digest[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return digest;
}

std::string HexOf(const TokenDigest& digest) {
  std::string hex;
  for (const unsigned char byte : digest) {
    hex.push_back(kHexDigits[byte >> 4]);
    hex.push_back(kHexDigits[byte & 15]);
  }
  return hex;
}

bool SameDigest(const TokenDigest& a, const TokenDigest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace tallyd
