// What a start and a reload refuse for the sake of who could get in: files of TLS that cannot be
// used, and addresses beyond loopback without what must stand before them. Exit status 2, or 409.
#ifndef TALLYD_DAEMON_START_CHECK_H_
#define TALLYD_DAEMON_START_CHECK_H_

#include <span>

#include "api/tls/tls_context.h"
#include "config/file/config.h"
#include "config/values/time.h"

namespace tallyd {

// Null where the configuration has no [server.tls]; `in_force` where nothing in its files has
// changed, so that the tickets that it has given stay good. A certificate that clients will refuse
// is a warning in the log. kInvalid says what is wrong.
Result<TlsContextPtr> LoadTls(const Config& config, const TlsContextPtr& in_force, TimeUs now);

// `listen`: where it really listens, or will. kInvalid (config/file/exposure.h).
Status CheckListening(const Config& config, std::span<const ListenAddress> listen);

}  // namespace tallyd

#endif  // TALLYD_DAEMON_START_CHECK_H_
