// One HTTP request to a daemon. Blocks; opens a connection for each. Two ways to say to whom: by
// the `listen` of a configuration (AskDaemon), and by a URL (ParseUrl, Ask). Thread-safe.
#ifndef TALLYD_TOOLS_HTTP_CLIENT_H_
#define TALLYD_TOOLS_HTTP_CLIENT_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values/result.h"

namespace tallyd {

// Of answers.
inline constexpr unsigned kHttpOk = 200;
inline constexpr unsigned kHttpBadRequest = 400;
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
};

struct HttpQuestion {
  std::string_view method;  // GET or POST.
  std::string path;         // With its query, escaped.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string_view body;
  // Called once somebody has taken the connection, before the first byte is sent: what fails here
  // is the answer, and nothing was sent. Empty: nobody wants to know.
  std::function<Status()> connected = {};
};

// Of "http://127.0.0.1:8780", also with a path. kInvalid says what is accepted.
Result<HttpTarget> ParseUrl(std::string_view url);

// The URL of a daemon by its `listen`; of one that listens on every address, by the loopback's.
std::string UrlOfListen(const std::string& listen);

// kUnavailable where nobody answers, or the answer breaks off. Waits as long as it takes.
Result<HttpAnswer> Ask(const HttpTarget& target, const HttpQuestion& question);

// `listen` as in the configuration: where it listens on every address, the loopback is asked.
// `body`, unless it is empty, is sent as JSON. Errors are those of Ask.
Result<HttpAnswer> AskDaemon(const std::string& listen, std::string_view method,
                             const std::string& path, const std::string& body);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_HTTP_CLIENT_H_
