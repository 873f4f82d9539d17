#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/answer.h"
#include "api/cursor.h"
#include "api/handlers.h"
#include "api/query/read_event_query.h"
#include "ingest/text/json.h"
#include "ingest/text/json_text.h"
#include "service/limits/pages.h"
#include "service/series/list_series.h"

namespace tallyd {
namespace {

Result<std::optional<std::string>> ReadAfter(const Params& params, uint64_t hash) {
  const auto cursor = params.Get("cursor");
  if (!cursor) return std::optional<std::string>();
  Result<CursorReader> reader = CursorReader::Open(*cursor, hash);
  if (!reader) return reader.error();
  std::string after;
  if (!reader->TakeText(&after) || !reader->AtEnd()) return BadCursor();
  return std::optional(std::move(after));
}

Error NoSuchSeries(const EventQuery& query) {
  std::string message = "no table of stream " + query.stream->name +
                        " has a row key that tells whose its rows are";
  for (const FieldFilter& filter : query.filters) {
    message += (&filter == &query.filters.front() ? " by " : " and ") + filter.field;
  }
  return Error(ErrorCode::kUnprocessable, std::move(message));
}

// {"measurement": "cpu", "host": "a"}
void AppendSeries(const SeriesKey& keys, std::string_view series, std::string* out) {
  thread_local std::string scratch;
  thread_local std::vector<KeyField> fields;
  out->push_back('{');
  if (keys.Read(series, &scratch, &fields)) {
    const char* between = "";
    for (const KeyField& field : fields) {
      if (field.value.is_null()) continue;
      out->append(std::exchange(between, ","));
      AppendJsonName(keys.NameOf(field), out);
      out->push_back(':');
      AppendJsonValue(field.value, out);
    }
  }
  out->push_back('}');
}

}  // namespace

Response ListSeries(const Request& request, ApiContext& context) {
  const Result<EventRequest> asked = ReadEventRequest(request, context, QueryKind::kSeries);
  if (!asked) return ProblemOf(asked.error());
  const Result<std::optional<std::string>> after = ReadAfter(request.params, asked->hash);
  if (!after) return ProblemOf(after.error());
  const EventQuery& query = asked->query;
  std::vector<SeriesFilter> filters;
  for (const FieldFilter& filter : query.filters) filters.push_back({filter.field, filter.values});
  const auto of = TableOfSeries(query.schema(), *query.stream, filters);
  if (!of) return ProblemOf(NoSuchSeries(query));
  const SeriesSearch search{*of->table,
                                context.store.FindTable(of->table->name),
                                of->keys,
                                query.access.snapshot->series.get(),
                                query.ClampOf(*of->table),
                                query.stream->unit,
                                query.now,
                                std::move(filters),
                                query.limit.value_or(kDefaultLimit)};
  if (search.stored == nullptr) {
    return ProblemOf(Error(ErrorCode::kUnavailable, of->table->name + " is not in the store yet"));
  }
  Result<SeriesPage> page = ListSeriesOf(search, *after, context.store, request.memory);
  if (!page) return ProblemOf(page.error());
  Json next = nullptr;
  if (page->last) {
    CursorWriter cursor(asked->hash);
    cursor.AddText(*page->last);
    next = cursor.Finish();
  }
  std::string body = "{\"series\":[";
  for (const std::string& series : page->series) {
    if (&series != &page->series.front()) body.push_back(',');
    AppendSeries(of->keys, series, &body);
  }
  body += "]";
  AppendMembers({{"next", std::move(next)}}, &body);
  body += "}";
  Response response = Response::Json(200, std::move(body));
  response.held = std::move(page->held);
  return response;
}

}  // namespace tallyd
