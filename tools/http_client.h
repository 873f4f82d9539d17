// One HTTP request to a daemon, plain or by TLS. Blocks; opens a connection for each. Two ways to
// say to whom: by the daemon's configuration (TargetOf), and by a URL (ParseUrl). Thread-safe.
#ifndef TALLYD_TOOLS_HTTP_CLIENT_H_
#define TALLYD_TOOLS_HTTP_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "tools/tls_client.h"

namespace tallyd {

// Of answers.
inline constexpr unsigned kHttpOk = 200;
inline constexpr unsigned kHttpBadRequest = 400;
inline constexpr unsigned kHttpUnauthorized = 401;
inline constexpr unsigned kHttpTooLarge = 413;

struct HttpAnswer {
  unsigned status = 0;
  std::string body;
  std::string link;               // The header, as it came; empty: none.
  std::string retry_after;        // Likewise.
  std::string content_type = {};  // Likewise.
  // It told where its body ends. Where it did not, the connection's end did, which also comes where
  // somebody in between broke off.
  bool is_framed = true;
};

struct HttpTarget {
  std::string host;
  std::string port;
  std::string prefix;  // Of every path: "/tallyd", or empty.
  std::shared_ptr<TlsClient> tls = {};  // Null: plain HTTP.
};

struct HttpQuestion {
  std::string_view method;  // GET or POST.
  std::string path;         // With its query, escaped.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string_view body;
  // Called once somebody has taken the connection, before the first byte is sent: what fails here
  // is the answer, and nothing was sent. Empty: nobody wants to know.
  std::function<Status()> connected = {};
  int64_t patience_us = 0;  // For all of it once it is connected; 0: as long as it takes.
};

// Of "http://127.0.0.1:8780" or "https://tallyd.example.org:8443", also with a path. `ca_file`:
// whom to believe that it is that host, authorities in PEM; empty: the system's. kInvalid says what
// is accepted.
Result<HttpTarget> ParseUrl(std::string_view url, const std::string& ca_file = {});

// Of the daemon that has this configuration: where it listens plainly on the loopback, or else at
// its first address, by TLS if that is so, and then whoever has exactly the certificate that is
// named. Where it listens on every address, the loopback is asked.
Result<HttpTarget> TargetOf(const ServerConfig& server);

// "https://127.0.0.1:8443", as it is told to people.
std::string UrlOf(const HttpTarget& target);

// kUnavailable where nobody answers, or the answer breaks off. Waits as long as it takes.
Result<HttpAnswer> Ask(const HttpTarget& target, const HttpQuestion& question);

struct DaemonQuestion {
  std::string_view method;  // GET or POST.
  std::string path;
  std::string body;   // JSON, unless it is empty.
  std::string token;  // Empty: none.
};

// Of such a daemon. Errors are those of TargetOf and Ask.
Result<HttpAnswer> AskDaemon(const ServerConfig& server, const DaemonQuestion& question);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_HTTP_CLIENT_H_
