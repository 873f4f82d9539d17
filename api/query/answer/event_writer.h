// The answer of a query for events, in the format that was asked for, from its run.
//
// JSON is one page: {"columns": [...], "rows": [...], "plan": {...}, "next": null | "..."}.
// NDJSON (objects that can be POSTed again) and CSV stream to the end; with `limit` they are one
// page, too, and a Link header leads to the next.
#ifndef TALLYD_API_QUERY_ANSWER_EVENT_WRITER_H_
#define TALLYD_API_QUERY_ANSWER_EVENT_WRITER_H_

#include <memory>

#include "api/query/answer/event_run.h"
#include "api/request.h"
#include "api/response.h"

namespace tallyd {

// Starts the run; any error becomes a problem. *replan, where it is not null: nothing is answered,
// since before its first byte the run met events that fell on one cell of its table.
Response AnswerEvents(const Request& request, std::unique_ptr<EventRun> run,
                      bool* replan = nullptr);

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_ANSWER_EVENT_WRITER_H_
