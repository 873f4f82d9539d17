#include "api/http/wire.h"

#include <fmt/compile.h>

#include <cstring>

#include "api/cors.h"

namespace tallyd {

namespace {

void PutTwoDigits(int number, char* to) {
  to[0] = static_cast<char>('0' + number / 10 % 10);
  to[1] = static_cast<char>('0' + number % 10);
}

// RFC 9110, section 5.6.7. By hand: every answer has one, and what formats numbers of a width is
// many instructions that nothing else of an answer needs.
void AppendDate(TimeUs now, std::string* out) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const CivilTime t = ToCivil(now);
  char date[] = "Sun, 06 Nov 1994 08:49:37 GMT";
  std::memcpy(date, kDays[t.weekday], 3);
  PutTwoDigits(t.day, date + 5);
  std::memcpy(date + 8, kMonths[t.month - 1], 3);
  PutTwoDigits(t.year / 100, date + 12);
  PutTwoDigits(t.year, date + 14);
  PutTwoDigits(t.hour, date + 17);
  PutTwoDigits(t.minute, date + 20);
  PutTwoDigits(t.second, date + 23);
  out->append(date, sizeof date - 1);
}

}  // namespace

void AppendHead(const Response& response, const HeadOptions& options, std::string* out) {
  auto to = std::back_inserter(*out);
  fmt::format_to(to, FMT_COMPILE("HTTP/1.1 {} {}\r\n"), response.status,
                 ReasonPhrase(response.status));
  const bool has_content = response.status != 204;
  if (has_content) fmt::format_to(to, FMT_COMPILE("Content-Type: {}\r\n"), response.content_type);
  *out += "Date: ";
  AppendDate(options.now, out);
  *out += "\r\n";
  for (const auto& [name, value] : response.headers) {
    fmt::format_to(to, FMT_COMPILE("{}: {}\r\n"), name, value);
  }
  *out += "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";
  if (options.cors) AppendCors(*options.cors, out);
  if (!has_content) {
    // Neither length nor encoding (RFC 9110, section 8.6).
  } else if (options.chunked) {
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
