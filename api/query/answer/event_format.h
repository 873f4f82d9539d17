// EventFormat: events in one format of output, a class each; MakeEventFormat knows them all.
//
//   format->Begin(&text);
//   format->Add(event, &text);                    // For each event.
//   while (format->End(next_cursor, &text)) ...   // May give `text` away in between.
//
// Formats of lines write each event as it comes. JSON tells its columns before its rows: it keeps
// the events of its one page, and End writes all of it, a chunk at a time. Not thread-safe.
#ifndef TALLYD_API_QUERY_ANSWER_EVENT_FORMAT_H_
#define TALLYD_API_QUERY_ANSWER_EVENT_FORMAT_H_

#include <memory>
#include <string>
#include <string_view>

#include "api/answer_format.h"
#include "service/query/run/event_run.h"

namespace tallyd {

class EventFormat {
 public:
  virtual ~EventFormat() = default;
  // Whether an answer is one page in any case, and tells the cursor of the next one itself.
  virtual bool is_page() const { return false; }
  virtual void Begin(std::string*) {}
  virtual void Add(const EventView& event, std::string* out) = 0;
  // What is kept of events that are not written yet.
  virtual size_t held_bytes() const { return 0; }
  // Why the answer has no events, before End; formats that have no place for it leave it out.
  virtual void SetHint(std::string /*hint*/) {}
  // False: all is written. `next` is the cursor of the next page, empty where there is none.
  virtual bool End(std::string_view /*next*/, std::string*) { return false; }
  // Why what was written since the chunk before must not go out; null: it may.
  virtual const Error* failure() const { return nullptr; }
};

// `run` is started, and outlives the format. Where a
// header line would name very many columns, the query's rows are read for those that they have.
Result<std::unique_ptr<EventFormat>> MakeEventFormat(EventRun* run, AnswerFormat format);

}  // namespace tallyd

#endif  // TALLYD_API_QUERY_ANSWER_EVENT_FORMAT_H_
