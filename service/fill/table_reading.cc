#include "service/fill/table_reading.h"

#include <utility>

namespace tallyd {

namespace {

EventQuery Filtered(EventQuery query, std::vector<FieldFilter> filters) {
  query.filters = std::move(filters);
  return query;
}

}  // namespace

TableReading::TableReading(Store& store, const Clock& clock, const FillWish& wish,
                           const Table& the_table, TablePtr stored,
                           std::vector<FieldFilter> filters)
    : table(the_table),
      query(InTermsOf(table, Filtered(QueryOfAll(wish.snapshot, *wish.stream, store, clock),
                                      std::move(filters)))),
      filter(query, table, &fields) {
  plan.table = &table;
  plan.stored = stored;
  KnownFields known;
  known.time = {wish.from, wish.before};
  plan.known = known;
  input.store = &store;
  input.plan = &plan;
  input.unit = wish.stream->unit;
  input.table = &table;
  input.stored = std::move(stored);
  input.fields = &fields;
  input.filter = &filter;
  input.counters = &counters;
  input.stream_fields = &query.known->spellings();
  input.now = query.now;
}

std::vector<KeyRange> TableReading::KeysOf(const TimeRange& time) const {
  KnownFields known;
  known.time = time;
  for (const FieldFilter& given : query.filters) known.values[given.field] = given.values;
  Result<KeyRanges> ranges = FindKeyRanges(table.row_key, known, input.unit);
  if (!ranges || !ranges->bounded) return {KeyRange{}};
  return std::move(ranges->ranges);
}

}  // namespace tallyd
