// TableReading: what it takes to read the events of a table, the source of a filling or the one
// that is filled, for those who scan it slice by slice (service/query/scan): every event of the
// stream, or those that filters on key fields let through, with every field that the table gives
// back, as of one moment.
#ifndef TALLYD_SERVICE_FILL_TABLE_READING_H_
#define TALLYD_SERVICE_FILL_TABLE_READING_H_

#include <vector>

#include "config/schema/key_ranges.h"
#include "service/fill/event_mapper.h"
#include "service/fill/fill_wish.h"
#include "service/query/ask/event_query.h"
#include "service/query/scan/part_scan.h"

namespace tallyd {

// Its members view each other. The store and the wish outlive it.
struct TableReading {
  TableReading(Store& store, const Clock& clock, const FillWish& wish, const Table& the_table,
               TablePtr stored, std::vector<FieldFilter> filters = {});
  TableReading(const TableReading&) = delete;
  TableReading& operator=(const TableReading&) = delete;

  // Where the rows are that have events of this time; all of it where the key does not tell.
  std::vector<KeyRange> KeysOf(const TimeRange& time) const;

  const Table& table;
  const EventQuery query;
  FieldTable fields;
  TablePlan plan;
  EventFilter filter;
  ScanCounters counters;
  ScanInput input;
};

// For a mapper of what is read so.
inline EventMapper::Source SourceOf(const FillWish& wish, const TableReading& reading) {
  return {*wish.snapshot->schema, *wish.stream, reading.table, *reading.query.known,
          reading.fields};
}

}  // namespace tallyd

#endif  // TALLYD_SERVICE_FILL_TABLE_READING_H_
