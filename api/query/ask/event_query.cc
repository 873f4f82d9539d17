#include "api/query/ask/event_query.h"

#include <algorithm>
#include <span>
#include <utility>

#include "api/cursor.h"
#include "api/query/ask/filter_values.h"
#include "config/schema/table_rules.h"
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

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
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
  }
  return kReserved;
}

// Neither a field nor a parameter: either may be misspelled.
Error UnknownName(std::string_view name, const EventQuery& query) {
  std::string message = query.known->Unknown(name).message();
  const char* before = "; the parameters beside fields are ";
  for (const std::string_view parameter : ParametersOf(query.kind)) {
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
Status ReadFilters(const Params& params, EventQuery* query) {
  constexpr std::string_view kPrefix = "field.";
  for (const auto& [name, value] : params.all()) {
    if (Contains(kReserved, name) || Contains(ParametersOf(query->kind), name)) {
      if (Status status = CheckReserved(name, query->kind); !status) return status;
      if (Contains(kRepeatable, name)) continue;
      if (Status status = params.ExpectOnce(name); !status) return status;
      continue;
    }
    const bool prefixed = name.starts_with(kPrefix) && !query->known->Knows(name);
    const std::string field = prefixed ? name.substr(kPrefix.size()) : name;
    if (!query->known->Knows(field)) return UnknownName(field, *query);
    if (value.empty() && query->kind == QueryKind::kRemoval) {
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

bool HasPaddedDigits(const EventQuery& query, std::string_view field) {
  return std::any_of(query.stream->tables.begin(), query.stream->tables.end(), [&](size_t index) {
    const auto& segments = query.schema().tables[index].row_key.segments();
    return std::any_of(segments.begin(), segments.end(), [&](const Segment& segment) {
      return segment.field == field && segment.spec.info().padding == Padding::kZerosBefore;
    });
  });
}

// Filters match by value: each text becomes those under which the value may be stored.
Status SpellFilters(EventQuery* query) {
  for (FieldFilter& filter : query->filters) {
    uint8_t types = query->known->TypesOf(filter.field);
    for (const std::string& spelling : query->known->SpellingsOf(filter.field)) {
      types |= query->known->TypesOf(spelling);
    }
    const FilteredField field{filter.field, types, HasPaddedDigits(*query, filter.field)};
    std::vector<std::string> all;
    for (const std::string& asked : filter.values) {
      const Result<std::vector<std::string>> texts = TextsOf(field, asked);
      if (!texts) return texts.error();
      for (const std::string& text : *texts) {
        if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
      }
    }
    filter.values = std::move(all);
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

// Whether the name is that of the stream's events' time, or of a table's that no table keeps as a
// field beside.
bool IsTimeAlone(const EventQuery& query, std::string_view field) {
  if (field == query.stream->time_field) return true;
  bool is_time = false;
  for (const size_t index : query.stream->tables) {
    const Table& table = query.schema().tables[index];
    if (TableHolds(table, field)) return false;
    is_time = is_time || table.time_field == field;
  }
  return is_time;
}

// The time can be bounded, not compared.
Status CheckTimeFilters(const EventQuery& query) {
  for (const std::string& field : query.FilteredFields()) {
    if (IsTimeAlone(query, field)) {
      return Invalid(field + ": it is the time; bound it with from and to");
    }
  }
  return {};
}

// Steps have a column for the time, and nothing is computed of it.
Status CheckTimeOfSteps(const EventQuery& query) {
  for (const std::string& field : query.by) {
    if (IsTimeAlone(query, field)) {
      return Invalid("by: " + field + " is the time, by which step groups; name another field");
    }
  }
  for (const std::string& field : query.fields) {
    if (query.step_us > 0 && !IsGlob(field) && IsTimeAlone(query, field)) {
      return Invalid("fields: " + field +
                     " is the time, of which no step computes anything; it comes first in any "
                     "answer");
    }
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
  if (query->top == 0 || query->step_us == 0) return {};
  if (query->by.empty()) {
    return Invalid("top: with step it keeps groups; say by what, for example by=hostname");
  }
  if (query->aggregations.size() > 1) return Invalid("top: it compares by one agg, not by several");
  return {};
}

Status ReadFill(const Params& params, EventQuery* query) {
  const auto name = params.Get("fill");
  if (!name) return {};
  if (query->step_us == 0) return Invalid("fill: it fills steps; add step and agg");
  const Result<Fill> fill = ParseFill(*name);
  if (!fill) return fill.error();
  query->fill = *fill;
  query->fills_range = params.Has("from") && params.Has("to");
  return {};
}

Status ReadDownsampling(const Params& params, EventQuery* query) {
  const auto step = params.Get("step");
  if (step) {
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
  if (step && query->aggregations.empty()) {
    return Invalid("step: it needs agg, for example agg=avg (there are " + AggregationNames() +
                   ")");
  }
  if (!step && !query->aggregations.empty()) {
    return Invalid("agg: it needs step, for example step=1m");
  }
  if (!step && !query->by.empty()) {
    return Invalid("by: it groups steps; add step and agg, for example step=1m&agg=avg");
  }
  return {};
}

Status ReadAnswer(const Request& request, EventQuery* query) {
  const Params& params = request.params;
  Result<std::optional<uint64_t>> limit = params.Number("limit", 1, kMaxLimit);
  if (!limit) return limit.error();
  query->limit = *limit;
  if (const auto order = params.Get("order")) {
    if (*order != "asc" && *order != "desc" && *order != "key") {
      return Invalid("order: " + Quoted(*order) + " is none of asc, desc, key");
    }
    query->order = *order == "asc"    ? Order::kAscending
                   : *order == "desc" ? Order::kDescending
                                      : Order::kKey;
    if (query->order == Order::kKey && (params.Has("step") || params.Has("top"))) {
      return Invalid("order: key is an order of events; steps and top come in order of time");
    }
  }
  Result<AnswerFormat> format = ChooseFormat(request);
  if (!format) return format.error();
  query->format = *format;
  Result<bool> scan = params.Flag("scan");
  if (!scan) return scan.error();
  query->scan = *scan;
  query->table = params.Get("table").value_or("");
  return {};
}

Status ReadCursor(const Params& params, EventQuery* query) {
  const auto text = params.Get("cursor");
  if (!text) return {};
  Result<EventCursor> cursor = DecodeCursor(*text, query->hash);
  if (!cursor) return cursor.error();
  query->time = cursor->range;
  query->table = cursor->table;
  query->cursor = std::move(*cursor);
  return {};
}

}  // namespace

std::vector<std::string> EventQuery::FilteredFields() const {
  std::vector<std::string> names;
  for (const FieldFilter& filter : filters) names.push_back(filter.field);
  for (const Where& where : wheres) names.push_back(where.field);
  return names;
}

EventQuery InTermsOf(const Table& table, EventQuery query) {
  if (query.known->compact_names().empty()) return query;
  const auto name_in = [&](const std::string& name) {
    std::string spelling = SpellingIn(table, name, query.known->spellings());
    if (spelling != name || query.known->WasSeen(name)) return spelling;
    // Another table keeps it by a compact name, and this one as it was sent: in one way, or the
    // answer is partial.
    const std::vector<std::string> seen = query.known->SpellingsOf(name);
    return seen.size() == 1 ? seen[0] : spelling;
  };
  const auto add = [](std::string name, std::vector<std::string>* names) {
    if (std::ranges::count(*names, name) == 0) names->push_back(std::move(name));
  };
  std::vector<std::string> fields;
  for (const std::string& pattern : query.fields) {
    add(IsGlob(pattern) ? pattern : name_in(pattern), &fields);
    if (!IsGlob(pattern)) continue;
    // What a glob matches may come back under a name that it does not match.
    std::vector<std::string> matching = query.known->Matching(pattern);
    for (const std::string& name : query.known->compact_names()) {
      if (GlobMatches(pattern, name)) matching.push_back(name);
    }
    for (const std::string& name : matching) {
      std::string spelling = name_in(name);
      if (spelling != name && !GlobMatches(pattern, spelling)) add(std::move(spelling), &fields);
    }
  }
  query.fields = std::move(fields);
  std::vector<std::string> by;
  for (const std::string& name : query.by) add(name_in(name), &by);
  query.by = std::move(by);
  std::vector<FieldFilter> filters;
  for (FieldFilter& filter : query.filters) {
    std::string field = name_in(filter.field);
    const auto same = std::ranges::find(filters, field, &FieldFilter::field);
    if (same == filters.end()) {
      filters.push_back({std::move(field), std::move(filter.values)});
    } else {
      same->values.insert(same->values.end(), filter.values.begin(), filter.values.end());
    }
  }
  query.filters = std::move(filters);
  for (Where& where : query.wheres) where.field = name_in(where.field);
  return query;
}

Result<EventQuery> ParseEventQuery(const Request& request, ApiContext& context, QueryKind kind) {
  EventQuery query;
  query.snapshot = context.snapshot();
  query.kind = kind;
  query.now = context.clock.Now();
  Result<const Stream*> stream = FindStream(query.schema(), request.arguments[0]);
  if (!stream) return stream.error();
  query.stream = *stream;
  query.known = std::make_shared<StreamFields>(query.schema(), *query.stream, context.store);
  query.hash = HashOfQuery(kind == QueryKind::kLatest ? "latest" : "events", query.stream->name,
                           request.params);
  const Params& params = request.params;
  if (Status status = ReadFilters(params, &query); !status) return status.error();
  if (Status status = ReadWheres(params, &query); !status) return status.error();
  if (Status status = CheckTimeFilters(query); !status) return status.error();
  if (Status status = SpellFilters(&query); !status) return status.error();
  if (Status status = ReadTimes(params, &query); !status) return status.error();
  if (Status status = ReadFields(params, &query); !status) return status.error();
  if (Status status = ReadDownsampling(params, &query); !status) return status.error();
  if (Status status = CheckTimeOfSteps(query); !status) return status.error();
  if (Status status = ReadTop(params, &query); !status) return status.error();
  if (Status status = ReadFill(params, &query); !status) return status.error();
  if (Status status = ReadAnswer(request, &query); !status) return status.error();
  if (Status status = ReadCursor(params, &query); !status) return status.error();
  return query;
}

}  // namespace tallyd
