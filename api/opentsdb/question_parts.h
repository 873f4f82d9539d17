// What OpenTSDB's questions have in common.
#ifndef TALLYD_API_OPENTSDB_QUESTION_PARTS_H_
#define TALLYD_API_OPENTSDB_QUESTION_PARTS_H_

#include <string>

#include "api/context.h"
#include "api/request.h"
#include "config/values/result.h"

namespace tallyd {

// Whether the body asks, and not the query string: by the method, or by `method_override`, with
// which clients that can only GET say which they mean. kInvalid: it is one that asks nothing.
Result<bool> AsksByBody(const Request& request);

// The stream of the protocol's own points; empty: it has none.
std::string OwnStream(const ApiContext& context);

// How many of a list, by a parameter or a member's text; of OpenTSDB 25 where nobody says.
inline constexpr size_t kOpentsdbMax = 25;

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_QUESTION_PARTS_H_
