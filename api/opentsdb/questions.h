// The handlers of what OpenTSDB's clients ask (api/handlers.h says what handlers are). Their errors
// are problems, which their endpoint writes in the protocol's form. What parameters they do not
// know they pass over, as OpenTSDB does.
#ifndef TALLYD_API_OPENTSDB_QUESTIONS_H_
#define TALLYD_API_OPENTSDB_QUESTIONS_H_

#include "api/context.h"
#include "api/request.h"
#include "api/response.h"

namespace tallyd {

Response AnswerOpentsdbQuery(const Request& request, ApiContext& context);
Response AnswerOpentsdbLast(const Request& request, ApiContext& context);
Response AnswerOpentsdbSuggest(const Request& request, ApiContext& context);
Response AnswerOpentsdbLookup(const Request& request, ApiContext& context);
Response ListOpentsdbAggregators(const Request& request, ApiContext& context);
Response ListOpentsdbFilters(const Request& request, ApiContext& context);

}  // namespace tallyd

#endif  // TALLYD_API_OPENTSDB_QUESTIONS_H_
