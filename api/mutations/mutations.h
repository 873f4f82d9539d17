// POST /v1/tables/{table}/rows/{key}/mutations: changes one row, in order and as a whole. The
// handler is PostMutations (api/handlers.h).
#ifndef TALLYD_API_MUTATIONS_MUTATIONS_H_
#define TALLYD_API_MUTATIONS_MUTATIONS_H_

#include "api/request.h"
#include "service/idempotency/keys.h"

namespace tallyd {

// What the request says, for its Idempotency-Key: keys are those of the table. REQUIRES: it has
// one.
KeyedRequest KeyedMutations(const Request& request);

}  // namespace tallyd

#endif  // TALLYD_API_MUTATIONS_MUTATIONS_H_
