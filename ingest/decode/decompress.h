// Content-Encoding undone, bounded: never more than `max_bytes`, and once over 1 MiB never more
// than 100 times the wire size. Beyond: kTooLarge. Bytes that are not what they claim: kInvalid. No
// allocation is sized by a declared length before the length was checked.
#ifndef TALLYD_INGEST_DECODE_DECOMPRESS_H_
#define TALLYD_INGEST_DECODE_DECOMPRESS_H_

#include <optional>
#include <string>
#include <string_view>

#include "config/values/result.h"

namespace tallyd {

enum class ContentEncoding : uint8_t { kIdentity, kGzip, kZstd, kSnappy, kDeflate };

// "gzip", "x-gzip", "zstd", "snappy", "deflate", "identity" or empty, in any case. Empty result:
// unknown.
std::optional<ContentEncoding> ParseContentEncoding(std::string_view text);

// Replaces *out; its memory is reused. Deflate is zlib's format (RFC 9110), raw deflate is
// understood as well. Gzip may have several members, zstd several frames.
Status Decompress(ContentEncoding encoding, std::string_view wire, size_t max_bytes,
                  std::string* out);

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_DECOMPRESS_H_
