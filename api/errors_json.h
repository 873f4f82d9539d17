// What a body's events were refused for, as JSON.
#ifndef TALLYD_API_ERRORS_JSON_H_
#define TALLYD_API_ERRORS_JSON_H_

#include "ingest/decode/event_batch.h"
#include "ingest/text/json.h"

namespace tallyd {

// {"errors": [{"index", "field", "detail"}], "error_count"}: those that are kept, and how many
// there were.
Json JsonOfErrors(const EventErrors& errors);

}  // namespace tallyd

#endif  // TALLYD_API_ERRORS_JSON_H_
