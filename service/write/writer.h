// Writer: the one door for writes. Every face (a route, a protocol) and every job that changes rows
// comes through it, and it sees to all that a write must remember beside its rows: which of these
// duties each kind of write has stands in one table, duties.h.
//
// Events come in three steps, so that a face may leave its thread while the disk works:
//
//   EventWrite write = writer.PrepareEvents(who, events, terms);   // All CPU, none of the disk.
//   if (write.state == EventWrite::State::kReady) {
//     writer.Submit(&write, done);      // `done` comes once they are durable, or are not to be.
//     writer.NoteCommitted(&write);     // Behind a commit, on a thread of the caller.
//   }
//
// It knows no protocol: what is wrong is told by codes and lists, and whoever asked spells it.
//
// Every entry is told who asks. Where a scope narrows what somebody may write it is held to here,
// and nowhere before or behind: an event before it is mapped (PrepareEvents: what is outside is an
// error of that event, as any other), a row by its key before anything is put into its batch. Jobs
// write as TheDaemon(), whom nothing narrows.
//
// Thread-safe. What Parts name outlives it.
#ifndef TALLYD_SERVICE_WRITE_WRITER_H_
#define TALLYD_SERVICE_WRITE_WRITER_H_

#include "config/values/result.h"
#include "config/values/time.h"
#include "ingest/decode/event_batch.h"
#include "ingest/hold/held_counters.h"
#include "ingest/times/arrivals.h"
#include "service/heat/heat_map.h"
#include "service/limits/row_sizes.h"
#include "service/live_schema.h"
#include "service/metrics/service_metrics.h"
#include "service/principal.h"
#include "service/write/event_write.h"
#include "storage/store.h"

namespace tallyd {

class Writer {
 public:
  struct Parts {
    Store& store;
    const Clock& clock;
    const LiveSchema& live_schema;
    ServiceMetrics& metrics;
    HeatMap& heat;
    RowSizes& row_sizes;
    HeldCounters& counters;
    Arrivals& arrivals;
  };

  explicit Writer(const Parts& parts) : parts_(parts) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Maps the events, by the schema of now, and decides what becomes of them. They are not looked at
  // afterwards. Does not block, but for what is new: a shape's columns, a stream's last arrival.
  EventWrite PrepareEvents(const PrincipalPtr& who, const RequestEvents& events,
                           const EventTerms& terms);
  // REQUIRES: it is ready. *write stays until `done` was called and this has returned. What is held
  // of events that were committed is held before the next batch is: whoever then waits for a commit
  // and writes what is held has all of it, whether or not anybody was answered.
  void Submit(EventWrite* write, CommitDone done);
  // Counts what was committed, and tells *write what its sender should know of it.
  void NoteCommitted(EventWrite* write);
  // The same in one step, for threads that may block. REQUIRES: it is ready.
  Status Commit(EventWrite* write);

 private:
  // What decides about a batch that was mapped; nothing: it is to be committed.
  void Decide(const EventTerms& terms, EventWrite* write);
  void Take(MapOutcome* outcome);

  const Parts parts_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_WRITE_WRITER_H_
