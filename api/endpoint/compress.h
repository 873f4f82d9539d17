// Responses compressed when the client asks: Accept-Encoding negotiated, bodies and sources
// wrapped.
#ifndef TALLYD_API_ENDPOINT_COMPRESS_H_
#define TALLYD_API_ENDPOINT_COMPRESS_H_

#include <string_view>

#include "api/response.h"

namespace tallyd {

enum class AcceptedEncoding : uint8_t { kIdentity, kGzip, kZstd };

// The best of what Accept-Encoding allows, by its q values (RFC 9110 12.5.3); of equals zstd. Never
// fails: what cannot be read is identity.
AcceptedEncoding NegotiateEncoding(std::string_view accept_encoding);

// Compresses the body, and wraps the source of what follows; whole bodies under 1 KiB stay as they
// are; sets Content-Encoding. Vary is set whenever
// the choice was open.
void CompressResponse(AcceptedEncoding encoding, Response* response);

}  // namespace tallyd

#endif  // TALLYD_API_ENDPOINT_COMPRESS_H_
