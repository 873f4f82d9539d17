// Hosts as URLs and the configuration write them: a name, an IPv4 address, or an IPv6 address in
// brackets, without a port. Pure functions over text that anybody may have sent.
#ifndef TALLYD_CONFIG_FILE_HOST_H_
#define TALLYD_CONFIG_FILE_HOST_H_

#include <string_view>

namespace tallyd {

// "localhost" in any case, 127.0.0.0/8, "[::1]".
bool IsLoopbackHost(std::string_view host);

// Whether it can be a host at all: "tallyd.example.org", "10.0.0.7", "[2001:db8::7]".
bool IsHost(std::string_view text);

// Without regard to case.
bool IsSameHost(std::string_view a, std::string_view b);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_FILE_HOST_H_
