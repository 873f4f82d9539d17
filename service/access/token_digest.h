// The SHA-256 of a token, by which it is found: a token is drawn by a machine, of 256 bits, so that
// nobody guesses it from its digest, however fast digests are made.
#ifndef TALLYD_SERVICE_ACCESS_TOKEN_DIGEST_H_
#define TALLYD_SERVICE_ACCESS_TOKEN_DIGEST_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tallyd {

using TokenDigest = std::array<unsigned char, 32>;

// What is longer is no token: it is not worth digesting.
inline constexpr size_t kMaxTokenBytes = 4096;

// Nothing: it is empty or longer than tokens are.
std::optional<TokenDigest> DigestOf(std::string_view token);
// Of 64 lowercase hexadecimal digits, and back. Nothing: it is something else.
std::optional<TokenDigest> DigestOfHex(std::string_view hex);
std::string HexOf(const TokenDigest& digest);
// In a time that does not tell how far they are equal.
bool SameDigest(const TokenDigest& a, const TokenDigest& b);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_ACCESS_TOKEN_DIGEST_H_
