// A new token: 256 bits of the system's randomness as text, which says what it is, so that whoever
// looks for secrets in files finds it: tly_ and the bits, 43 characters of base64url, then _ and
// the CRC-32 of all that stands before, 8 hexadecimal digits.
#ifndef TALLYD_TOOLS_NEW_TOKEN_H_
#define TALLYD_TOOLS_NEW_TOKEN_H_

#include <string>

#include "config/values/result.h"

namespace tallyd {

// kUnavailable where the system gives no randomness.
Result<std::string> MakeToken();

}  // namespace tallyd

#endif  // TALLYD_TOOLS_NEW_TOKEN_H_
