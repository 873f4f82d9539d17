// Who can reach an address that is listened on, and what must stand between them and the data.
// Pure functions over configured text and what the system says of a socket, both as HOST:PORT.
#ifndef TALLYD_CONFIG_FILE_EXPOSURE_H_
#define TALLYD_CONFIG_FILE_EXPOSURE_H_

#include <span>
#include <string_view>

#include "config/file/config.h"

namespace tallyd {

// An IPv4 address, an IPv6 address in brackets, or localhost, and a port: what can be listened on
// without asking anybody for a name.
bool IsListenAddress(std::string_view at);

// REQUIRES: IsListenAddress(at).
bool IsLoopbackAddress(std::string_view at);

// Refuses (kInvalid) addresses beyond loopback without tokens, and such without TLS unless
// `plaintext` waives that. `listen`: what is really listened on, or will be.
Status CheckExposure(std::span<const ListenAddress> listen, bool has_tokens, bool plaintext);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_FILE_EXPOSURE_H_
