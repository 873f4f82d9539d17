// A request's parameters -> what it asks of a stream's events, and how it wants the answer.
// Parameters that are not reserved are filters on the field of that name; "field.NAME" names any
// field.
#ifndef TALLYD_API_QUERY_READ_EVENT_QUERY_H_
#define TALLYD_API_QUERY_READ_EVENT_QUERY_H_

#include <cstdint>

#include "api/answer_format.h"
#include "api/context.h"
#include "api/request.h"
#include "config/values/result.h"
#include "service/query/ask/event_query.h"

namespace tallyd {

// What the route is for: it decides which of the reserved parameters it takes.
enum class QueryKind : uint8_t { kEvents, kLatest, kRemoval, kSeries };

struct EventRequest {
  EventQuery query;
  AnswerFormat format = AnswerFormat::kJson;
  uint64_t hash = 0;  // Of what was asked, for its cursors.
};

// Of series: their filters and `limit`; the cursor is left to whoever asks. kNotFound: the stream
// (the message names near ones). kInvalid: anything else.
Result<EventRequest> ReadEventRequest(const Request& request, ApiContext& context, QueryKind kind);

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_READ_EVENT_QUERY_H_
