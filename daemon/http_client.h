// One HTTP request to the daemon that serves a configuration. Blocks; opens a connection for each.
#ifndef TALLYD_DAEMON_HTTP_CLIENT_H_
#define TALLYD_DAEMON_HTTP_CLIENT_H_

#include <string>
#include <string_view>

#include "config/values/result.h"

namespace tallyd {

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
};

// `listen` as in the configuration: where it listens on every address, the loopback is asked.
// `body`, unless it is empty, is sent as JSON. kUnavailable where nobody answers. Waits as long as
// the answer takes.
Result<HttpAnswer> AskDaemon(const std::string& listen, std::string_view method,
                             const std::string& path, const std::string& body);

}  // namespace tallyd

#endif  // TALLYD_DAEMON_HTTP_CLIENT_H_
