#include "tools/new_token.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "config/access/token_config.h"
#include "ingest/text/json_text.h"

namespace tallyd {

namespace {

constexpr size_t kSecretBytes = 32;

std::string Base64Url(std::string_view bytes) {
  std::string text = EncodeBase64(bytes);
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return text;
}

}  // namespace

Result<std::string> MakeToken() {
  std::array<char, kSecretBytes> secret{};
  // So few bytes are given whole, or not at all.
  if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size())) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("the system gives no randomness: {}", std::strerror(errno)));
  }
  std::string token = std::string(kTokenStart) + Base64Url({secret.data(), secret.size()});
  const auto* const bytes = reinterpret_cast<const unsigned char*>(token.data());
  const uLong crc = crc32(0, bytes, static_cast<uInt>(token.size()));
  return fmt::format("{}_{:08x}", token, crc);
}

}  // namespace tallyd
