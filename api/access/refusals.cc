#include "api/access/refusals.h"

#include <fmt/format.h>

namespace tallyd {

Response Unauthorized() {
  Response response = Problem(401, "this needs a good token, as in Authorization: Bearer TOKEN");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

Response LacksRole(const Principal& principal, Role role) {
  const std::string needed = fmt::format("this needs the role {}", RoleName(role));
  if (principal.name.empty()) return Problem(403, needed);
  return Problem(403, fmt::format("{}, which {} does not have", needed, principal.name));
}

}  // namespace tallyd
