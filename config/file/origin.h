// Origins as browsers send them (RFC 6454, section 6.2; the URL standard): scheme, host, and the
// port where it is not the scheme's own. They are compared byte by byte, so server.cors takes only
// what a browser would send. Pure functions over text that anybody may have sent.
#ifndef TALLYD_CONFIG_FILE_ORIGIN_H_
#define TALLYD_CONFIG_FILE_ORIGIN_H_

#include <string>
#include <string_view>

namespace tallyd {

// What keeps the text from being an Origin as a browser sends it, and, where one can be read out of
// it, what a browser would send: "has a path; a browser sends https://a.example". Empty: nothing.
std::string OriginMistake(std::string_view text);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_FILE_ORIGIN_H_
