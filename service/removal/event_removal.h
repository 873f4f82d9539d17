// EventRemoval: forgets a time range of an entity in every table of a stream, also in those that
// are in the file no more: they may come back, and what was forgotten must not come back with them.
//
// 1. Every filter must be a key field of every table: a table that cannot tell the entity from its
//    keys would lose too much or too little, and the whole request is refused.
// 2. Where the filters are the leading fields of the key, its ranges hold that entity and
//    nothing else: one delete per range, however many rows it holds.
// 3. Elsewhere the keys are read, and every row of the entity is deleted by its own key.
// 4. A cell that holds what all events of a bucket came to goes whole or stays: a range that would
//    cut one is refused, or leaves the table as it is where whoever asks says so (bucket_cut.h).
// 5. All of it commits as one batch. Times are judged by the cells' own time.
// 6. What latest rows lose is looked for in history afterwards (latest_restorer.h).
//
//   EventRemoval removal(parts);              // Before the question is asked of the schema.
//   Result<EventsRemoved> removed = removal.Run(query, keeps_aggregates);
//
// Of one removal and one thread; blocks on the disk.
#ifndef TALLYD_SERVICE_REMOVAL_EVENT_REMOVAL_H_
#define TALLYD_SERVICE_REMOVAL_EVENT_REMOVAL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/values/result.h"
#include "service/query/ask/event_query.h"
#include "service/removal/removal_count.h"
#include "service/removal/removal_parts.h"

namespace tallyd {

struct EventsRemoved {
  struct OfTable {
    std::string table;
    size_t ranges = 0;  // Or single rows.
    RemovalCount count;
    std::string time_field;  // By which the table goes, where the stream goes by another.
  };
  std::vector<OfTable> tables;
  std::vector<std::string> kept;  // The names of those that stay as they are.
  uint64_t held_rows = 0;         // Of counters that were not written yet.
};

class EventRemoval {
 public:
  // For as long as it lives no nightly table is made of what it deletes, and no table filled
  // (service/write/removal_gate.h).
  explicit EventRemoval(const RemovalParts& parts);
  EventRemoval(const EventRemoval&) = delete;
  EventRemoval& operator=(const EventRemoval&) = delete;

  // kInvalid: the query has no filter on a key field.
  static Status CheckEntity(const EventQuery& query);

  // The query was begun after this was made. `keeps_aggregates`: a table whose buckets the range
  // would cut stays as it is, instead of refusing all.
  Result<EventsRemoved> Run(const EventQuery& query, bool keeps_aggregates);

 private:
  const RemovalParts parts_;
  const RemovalGate::Held held_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_REMOVAL_EVENT_REMOVAL_H_
