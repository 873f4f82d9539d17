// events -> mutations: a stream's tables, patterns and column rules applied to a batch of events.
//
// One Mapper per stream and schema, shared by all threads. What depends only on an event's shape
// (which field goes to which column, in which order, under which ColumnSet) is compiled once per
// shape and table; per event there remain the row key, and names that hold values. Fields new to
// the stream are remembered in the batch (Batch::AddField).
#ifndef TALLYD_INGEST_MAP_MAPPER_H_
#define TALLYD_INGEST_MAP_MAPPER_H_

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "config/schema/schema.h"
#include "ingest/decode/event_batch.h"
#include "ingest/decode/shape.h"
#include "ingest/hold/held_counters.h"
#include "ingest/map/written_rows.h"
#include "ingest/series/series_gate.h"
#include "ingest/times/arrivals.h"
#include "storage/batch.h"
#include "storage/store.h"

namespace tallyd {

struct MapOutcome : WrittenRows {
  size_t events = 0;  // Entered at least one table, or were expired for all of them.
  // Events that at least one table did not take because they were past its max_age.
  uint64_t expired = 0;
  // Events whose increments to a table with `flush` are to be held, and these: they are the
  // caller's to add once the batch is durable.
  uint64_t held = 0;
  HeldIncrements increments;
  // Of all rows; nothing where there is none.
  std::optional<TimeUs> newest;
  EventErrors errors;  // Decoding errors included, in order of index.
  // Why no time can be judged or given now: the clock is wrong. The batch is not to be submitted.
  std::optional<Error> clock_error;
  // Nobody can tell yet whether an event is of a new series: the same holds.
  bool is_uncounted = false;

  // Another stream's part of the same request: no table is fed by both.
  void Add(MapOutcome&& other);
};

// What else a batch is mapped by.
struct MapTerms {
  // Whether the stream's guards hold (IngestGuards).
  bool guarded = false;
  // Gives the times of arrival, and is told how many were used; null: the i-th event without a time
  // gets the batch's arrival + i microseconds.
  ArrivalBlock* arrivals = nullptr;
  // Why an event may not come, whatever it is otherwise; empty: each may.
  std::function<std::optional<Refusal>(const Event& event)> refuses = {};
  // Is asked about each that comes; null: nothing of the stream is followed.
  SeriesGate* gate = nullptr;
};

class Mapper {
 public:
  // `store` outlives the mapper, as do the interned shapes of the events that it maps. REQUIRES:
  // schema was adopted by the store; stream is of schema.
  Mapper(std::shared_ptr<const Schema> schema, const Stream& stream, Store& store);
  ~Mapper();

  // Puts every good event into *batch: an event enters all of its tables or none. The caller
  // submits the batch only when errors is empty or partial storing was asked for. `arrival` is the
  // wall clock's time.
  // `counters`: where tables with `flush` hold what they count; null: they are like others.
  // `sampling` says how row_bytes are gathered. Thread-safe.
  MapOutcome Map(const EventBatch& events, TimeUs arrival, Batch* batch,
                 HeldCounters* counters = nullptr, const RowSampling& sampling = {},
                 const MapTerms& terms = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_MAPPER_H_
