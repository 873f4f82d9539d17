#include "api/http/wire.h"

#include <fmt/compile.h>

namespace tallyd {

namespace {

// RFC 9110, section 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
void AppendDate(TimeUs now, std::string* out) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const CivilTime t = ToCivil(now);
  fmt::format_to(std::back_inserter(*out), FMT_COMPILE("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT"),
                 kDays[t.weekday], t.day, kMonths[t.month - 1], t.year, t.hour, t.minute, t.second);
}

}  // namespace

void AppendHead(const Response& response, const HeadOptions& options, std::string* out) {
  auto to = std::back_inserter(*out);
  fmt::format_to(to, FMT_COMPILE("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n"), response.status,
                 ReasonPhrase(response.status), response.content_type);
  *out += "Date: ";
  AppendDate(options.now, out);
  *out += "\r\n";
  for (const auto& [name, value] : response.headers) {
    fmt::format_to(to, FMT_COMPILE("{}: {}\r\n"), name, value);
  }
  *out += "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  if (options.chunked) {
    *out += "Transfer-Encoding: chunked\r\n";
  } else if (options.has_length) {
    fmt::format_to(to, FMT_COMPILE("Content-Length: {}\r\n"), response.body.size());
  }
  if (!options.keep_alive) {
    *out += "Connection: close\r\n";
  } else if (options.http10) {
    *out += "Connection: keep-alive\r\n";
  }
  *out += "\r\n";
}

}  // namespace tallyd
