#include "api/query/read_event_query.h"

#include <algorithm>
#include <span>
#include <utility>

#include "api/answer.h"
#include "api/cursor.h"
#include "api/query/event_cursor_text.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

constexpr std::string_view kReserved[] = {"from", "to",    "fields", "limit", "order",
                                          "step", "agg",   "by",     "fill",  "where",
                                          "top",  "table", "cursor", "scan",  "format"};
constexpr std::string_view kRepeatable[] = {"fields", "agg", "by", "where"};
constexpr std::string_view kForLatest[] = {"fields", "limit", "cursor", "table",
                                           "where",  "top",   "format"};
constexpr std::string_view kForRemoval[] = {"from", "to", "aggregates"};
constexpr std::string_view kForSeries[] = {"limit", "cursor"};

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view NameOf(QueryKind kind) {
  if (kind == QueryKind::kSeries) return "series";
  return kind == QueryKind::kLatest ? "latest" : "events";
}

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::span<const std::string_view> ParametersOf(QueryKind kind) {
  switch (kind) {
    case QueryKind::kEvents:
      return kReserved;
    case QueryKind::kLatest:
      return kForLatest;
    case QueryKind::kRemoval:
      return kForRemoval;
    case QueryKind::kSeries:
      return kForSeries;
  }
  return kReserved;
}

// Neither a field nor a parameter: either may be misspelled.
Error UnknownName(std::string_view name, const EventQuery& query, QueryKind kind) {
  std::string message = query.known->Unknown(name).message();
  const char* before = "; the parameters beside fields are ";
  for (const std::string_view parameter : ParametersOf(kind)) {
    message.append(std::exchange(before, ", ")).append(parameter);
  }
  return Invalid(std::move(message));
}

Status CheckReserved(std::string_view name, QueryKind kind) {
  if (Contains(ParametersOf(kind), name)) return {};
  return Invalid(std::string(name) + ": not a parameter here" +
                 (kind == QueryKind::kLatest ? ", where only the latest values are" : "") +
                 "; a field of that name is given as field." + std::string(name));
}

// Everything that is not reserved, in order; the values of a repeated field together.
Status ReadFilters(const Params& params, QueryKind kind, EventQuery* query) {
  constexpr std::string_view kPrefix = "field.";
  for (const auto& [name, value] : params.all()) {
    if (Contains(kReserved, name) || Contains(ParametersOf(kind), name)) {
      if (Status status = CheckReserved(name, kind); !status) return status;
      if (Contains(kRepeatable, name)) continue;
      if (Status status = params.ExpectOnce(name); !status) return status;
      continue;
    }
    const bool prefixed = name.starts_with(kPrefix) && !query->known->Knows(name);
    const std::string field = prefixed ? name.substr(kPrefix.size()) : name;
    if (!query->known->Knows(field)) return UnknownName(field, *query, kind);
    if (value.empty() && kind == QueryKind::kRemoval) {
      return Invalid(field + ": it is empty, which no key field is; say whose events are to go");
    }
    const auto same =
        std::find_if(query->filters.begin(), query->filters.end(),
                     [&](const FieldFilter& filter) { return filter.field == field; });
    if (same == query->filters.end()) {
      query->filters.push_back({field, {value}});
    } else if (std::find(same->values.begin(), same->values.end(), value) == same->values.end()) {
      same->values.push_back(value);
    }
  }
  return {};
}

Status ReadWheres(const Params& params, EventQuery* query) {
  for (const auto& [name, value] : params.all()) {
    if (name != "where") continue;
    Result<Where> where = ParseWhere(value, *query->known);
    if (!where) return where.error();
    query->wheres.push_back(std::move(*where));
  }
  return {};
}

Status ReadTimes(const Params& params, EventQuery* query) {
  for (const auto& [name, bound] :
       {std::pair{"from", &query->time.from}, std::pair{"to", &query->time.to}}) {
    const auto text = params.Get(name);
    if (!text) continue;
    Result<TimeUs> time = ParseQueryTime(*text, query->now);
    if (!time) return time.error().Prefixed(name);
    *bound = *time;
  }
  if (query->time.from > query->time.to) return Invalid("from: it lies after to");
  return {};
}

Status ReadFields(const Params& params, EventQuery* query) {
  query->fields = params.List("fields");
  for (const std::string& field : query->fields) {
    if (!IsGlob(field) && !query->known->Knows(field)) return query->known->Unknown(field);
  }
  query->by = params.List("by");
  for (const std::string& field : query->by) {
    if (!query->known->Knows(field)) return query->known->Unknown(field).Prefixed("by");
  }
  return {};
}

constexpr uint64_t kMaxTop = 10'000;

Status ReadTop(const Params& params, EventQuery* query) {
  const Result<std::optional<uint64_t>> top = params.Number("top", 1, kMaxTop);
  if (!top) return top.error();
  query->top = top->value_or(0);
  return {};
}

Status ReadFill(const Params& params, EventQuery* query) {
  const auto name = params.Get("fill");
  if (!name) return {};
  const Result<Fill> fill = ParseFill(*name);
  if (!fill) return fill.error();
  query->fill = *fill;
  query->fills_range = params.Has("from") && params.Has("to");
  return {};
}

Status ReadDownsampling(const Params& params, EventQuery* query) {
  if (const auto step = params.Get("step")) {
    Result<int64_t> step_us = ParseDuration(*step);
    if (!step_us) return step_us.error().Prefixed("step");
    query->step_us = *step_us;
  }
  for (const std::string& name : params.List("agg")) {
    Result<Aggregation> aggregation = ParseAggregation(name);
    if (!aggregation) return aggregation.error();
    auto& all = query->aggregations;
    if (std::find(all.begin(), all.end(), *aggregation) == all.end()) all.push_back(*aggregation);
  }
  return {};
}

Status ReadLimit(const Params& params, EventQuery* query) {
  const Result<std::optional<uint64_t>> limit = params.Number("limit", 1, kMaxLimit);
  if (!limit) return limit.error();
  query->limit = *limit;
  return {};
}

Status ReadAnswer(const Request& request, EventRequest* asked) {
  const Params& params = request.params;
  EventQuery* const query = &asked->query;
  if (Status status = ReadLimit(params, query); !status) return status;
  if (const auto order = params.Get("order")) {
    if (*order != "asc" && *order != "desc" && *order != "key") {
      return Invalid("order: " + Quoted(*order) + " is none of asc, desc, key");
    }
    query->order = *order == "asc"    ? Order::kAscending
                   : *order == "desc" ? Order::kDescending
                                      : Order::kKey;
  }
  Result<AnswerFormat> format = ChooseFormat(request);
  if (!format) return format.error();
  asked->format = *format;
  query->is_page = query->limit || *format == AnswerFormat::kJson;
  Result<bool> scan = params.Flag("scan");
  if (!scan) return scan.error();
  query->scan = *scan;
  query->table = params.Get("table").value_or("");
  return {};
}

Status ReadCursor(const Params& params, uint64_t query_hash, EventQuery* query) {
  const auto text = params.Get("cursor");
  if (!text) return {};
  Result<EventCursor> cursor = DecodeCursor(*text, query_hash);
  if (!cursor) return cursor.error();
  query->time = cursor->range;
  query->table = cursor->table;
  query->cursor = std::move(*cursor);
  return {};
}

}  // namespace

Result<EventRequest> ReadEventRequest(const Request& request, ApiContext& context, QueryKind kind) {
  Result<EventQuery> begun = BeginEventQuery(context.AccessOf(*request.principal), context.store,
                                             request.arguments[0], context.clock.Now());
  if (!begun) return begun.error();
  EventRequest asked;
  asked.query = std::move(*begun);
  EventQuery& query = asked.query;
  asked.hash = HashOfQuery(NameOf(kind), query.stream->name, request.params);
  const Params& params = request.params;
  if (Status status = ReadFilters(params, kind, &query); !status) return status.error();
  if (Status status = ReadWheres(params, &query); !status) return status.error();
  if (Status status = SettleFilters(&query); !status) return status.error();
  if (kind == QueryKind::kSeries) {
    if (Status status = ReadLimit(params, &query); !status) return status.error();
    return asked;
  }
  if (Status status = ReadTimes(params, &query); !status) return status.error();
  if (Status status = ReadFields(params, &query); !status) return status.error();
  if (Status status = ReadDownsampling(params, &query); !status) return status.error();
  if (Status status = ReadTop(params, &query); !status) return status.error();
  if (Status status = ReadFill(params, &query); !status) return status.error();
  if (Status status = ReadAnswer(request, &asked); !status) return status.error();
  if (Status status = CheckSteps(query); !status) return status.error();
  if (Status status = ReadCursor(params, asked.hash, &query); !status) return status.error();
  return asked;
}

}  // namespace tallyd
