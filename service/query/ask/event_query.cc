#include "service/query/ask/event_query.h"

#include <algorithm>
#include <utility>

#include "config/schema/table_rules.h"
#include "config/values/glob.h"
#include "service/query/ask/filter_values.h"

namespace tallyd {
namespace {

bool HasPaddedDigits(const EventQuery& query, std::string_view field) {
  return std::any_of(query.stream->tables.begin(), query.stream->tables.end(), [&](size_t index) {
    const auto& segments = query.schema().tables[index].row_key.segments();
    return std::any_of(segments.begin(), segments.end(), [&](const Segment& segment) {
      return segment.field == field && segment.spec.info().padding == Padding::kZerosBefore;
    });
  });
}

// Each text becomes those under which the value may be stored.
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

// What only steps have.
Status CheckWithoutSteps(const EventQuery& query) {
  if (!query.aggregations.empty()) return Invalid("agg: it needs step, for example step=1m");
  if (!query.by.empty()) {
    return Invalid("by: it groups steps; add step and agg, for example step=1m&agg=avg");
  }
  if (query.fill != Fill::kNone) return Invalid("fill: it fills steps; add step and agg");
  if (query.order == Order::kKey && query.top > 0) {
    return Invalid("order: key is an order of events; steps and top come in order of time");
  }
  return {};
}

Status CheckWithSteps(const EventQuery& query) {
  if (query.aggregations.empty()) {
    return Invalid("step: it needs agg, for example agg=avg (there are " + AggregationNames() +
                   ")");
  }
  if (query.top > 0 && query.by.empty()) {
    return Invalid("top: with step it keeps groups; say by what, for example by=hostname");
  }
  if (query.top > 0 && query.aggregations.size() > 1) {
    return Invalid("top: it compares by one agg, not by several");
  }
  if (query.order == Order::kKey) {
    return Invalid("order: key is an order of events; steps and top come in order of time");
  }
  return {};
}

// Steps have a column for the time.
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

}  // namespace

Result<EventQuery> BeginEventQuery(Access access, const Store& store, std::string_view stream,
                                   TimeUs now) {
  EventQuery query;
  query.access = std::move(access);
  query.now = now;
  const Result<const Stream*> found = FindStream(query.schema(), stream);
  if (!found) return found.error();
  query.stream = *found;
  query.known = std::make_shared<StreamFields>(query.schema(), *query.stream, store);
  return query;
}

Status SettleFilters(EventQuery* query) {
  if (Status status = CheckTimeFilters(*query); !status) return status;
  return SpellFilters(query);
}

Status CheckSteps(const EventQuery& query) {
  const Status status = query.step_us == 0 ? CheckWithoutSteps(query) : CheckWithSteps(query);
  return status ? CheckTimeOfSteps(query) : status;
}

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

}  // namespace tallyd
