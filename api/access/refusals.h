// Answers to those who may not.
#ifndef TALLYD_API_ACCESS_REFUSALS_H_
#define TALLYD_API_ACCESS_REFUSALS_H_

#include "api/response.h"
#include "config/access/role.h"
#include "service/principal.h"

namespace tallyd {

// 401, the same whether there are no credentials, or such as are malformed, unknown, or expired.
Response Unauthorized();
// 403: the principal is known, and lacks the role.
Response LacksRole(const Principal& principal, Role role);

}  // namespace tallyd

#endif  // TALLYD_API_ACCESS_REFUSALS_H_
