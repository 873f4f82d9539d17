// The answer of a query for events, in the format that was asked for, from its run.
//
// JSON is one page: {"columns": [...], "rows": [...], "plan": {...}, "next": null | "..."}.
// NDJSON (objects that can be POSTed again) and CSV stream to the end; with `limit` they are one
// page, too, and a Link header leads to the next.
#ifndef TALLYD_API_QUERY_ANSWER_EVENT_WRITER_H_
#define TALLYD_API_QUERY_ANSWER_EVENT_WRITER_H_

#include <cstdint>
#include <memory>

#include "api/answer_format.h"
#include "api/request.h"
#include "api/response.h"
#include "service/query/run/event_run.h"

namespace tallyd {

// How the answer is written, and the hash of what was asked, for its cursors.
struct EventAnswer {
  AnswerFormat format = AnswerFormat::kJson;
  uint64_t query_hash = 0;
};

// Starts the run; any error becomes a problem. *replan, where it is not null: nothing is answered,
// since before its first byte the run met events that fell on one cell of its table.
Response AnswerEvents(const Request& request, const EventAnswer& answer,
                      std::unique_ptr<EventRun> run, bool* replan = nullptr);

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_ANSWER_EVENT_WRITER_H_
