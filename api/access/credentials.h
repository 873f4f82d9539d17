// What a request brings to say who asks: the token in its Authorization header.
#ifndef TALLYD_API_ACCESS_CREDENTIALS_H_
#define TALLYD_API_ACCESS_CREDENTIALS_H_

#include <string>
#include <string_view>

namespace tallyd {

// The token of "Bearer T", "Token T" (as clients of Influx send it) or "Basic base64(NAME:T)",
// whatever the name; empty where there is none to be found. `decoded` holds one that was encoded,
// and outlives what is returned.
std::string_view TokenOf(std::string_view authorization, std::string* decoded);

// Text for a log, with whatever may be a token in it left out: anything that begins as one, and the
// value of the parameter "p", which is one for clients of Influx.
std::string WithoutTokens(std::string_view path_and_query);

}  // namespace tallyd

#endif  // TALLYD_API_ACCESS_CREDENTIALS_H_
