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
// What is done to rows by their keys, and removals, are one call that blocks until it is durable.
// Jobs make their batches themselves and hand them over, with what they read before (ReadBefore).
//
// It knows no protocol: what is wrong is told by codes and lists, and whoever asked spells it.
//
// Every entry is told who asks. Where a scope narrows what somebody may write it is held to here,
// and nowhere before or behind: an event before it is mapped (PrepareEvents: what is outside is an
// error of that event, as any other), a row by its key before anything is put into its batch
// (ChangeRow, RemoveRows). Removals of events are told by their question what to look for. Jobs
// write as TheDaemon(), whom nothing narrows.
//
// Thread-safe. What Parts name outlives it.
#ifndef TALLYD_SERVICE_WRITE_WRITER_H_
#define TALLYD_SERVICE_WRITE_WRITER_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "ingest/decode/event_batch.h"
#include "ingest/hold/held_counters.h"
#include "ingest/map/late_days.h"
#include "ingest/map/written_rows.h"
#include "ingest/times/arrivals.h"
#include "service/access/schema_view.h"
#include "service/heat/heat_map.h"
#include "service/idempotency/keys.h"
#include "service/limits/row_sizes.h"
#include "service/live_schema.h"
#include "service/metrics/service_metrics.h"
#include "service/principal.h"
#include "service/series/series_keeper.h"
#include "service/write/duties.h"
#include "service/write/event_write.h"
#include "service/write/mutation.h"
#include "service/write/removal_gate.h"
#include "storage/store.h"

namespace tallyd {

// Changes to one row, in order and as a whole.
struct RowWrite {
  TablePtr stored;
  const Table& table;  // What the file says of `stored`.
  std::string_view key;
  std::span<const Mutation> mutations;
  // As those of EventTerms.
  const KeyClaim* claim = nullptr;
  std::function<KeyedAnswer(const WrittenRows& written)> answer = {};
};

struct RowWritten {
  WrittenRows rows;
  std::vector<std::string> warnings;  // What its sender should know beside.
};

// What a removal of events takes of the tables of a stream.
struct EventDeletes {
  std::string stream;
  std::unique_ptr<Batch> batch;   // The deletes, and what notes them.
  std::vector<HeldRemoval> held;  // What counters hold of the same.
  std::vector<TableId> tables;    // From which something may go.
};

// What a job read before it writes.
struct ReadBefore {
  WriteKind kind = WriteKind::kFill;  // Or kRestore.
  std::string_view stream;
  uint64_t removals = 0;            // RemovalGate::Removals, before it was read.
  std::shared_ptr<RowWatch> watch;  // Restarted then.
  const LateDays* late = nullptr;   // The days that the batch puts rows of; null: of none.
  const RowStems* stems = nullptr;  // Of the rows of the batch.
};

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
    const SchemaViews& views;
  };

  explicit Writer(const Parts& parts) : parts_(parts), series_(parts.store, parts.clock) {}
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

  // kForbidden: the row is not of whoever asks. kInvalid: it would grow too large. kConflict:
  // something is deleted, and the table is being filled from another one.
  Result<RowWritten> ChangeRow(const PrincipalPtr& who, const RowWrite& write);

  // kForbidden: there may be rows of others among them, too (service/removal/row_removal.h leaves
  // them out). kConflict: the table is being filled from another one, which would bring them back.
  Status RemoveRows(const PrincipalPtr& who, const TablePtr& table,
                    std::span<const DeleteSpec> what);
  // All of it: the store refuses one of the configuration.
  Status RemoveTable(const PrincipalPtr& who, const TablePtr& table);
  // `held`: since before what is to go was looked for. How many rows of held counters lost
  // something.
  Result<uint64_t> RemoveEvents(const PrincipalPtr& who, const RemovalGate::Held& held,
                                EventDeletes deletes);

  // Rows that were copied into a table that has no name yet.
  Status PutCopied(const PrincipalPtr& who, std::unique_ptr<Batch> batch);
  // kConflict, and nothing is changed: what was read may not be what is there any more.
  Status PutRead(const PrincipalPtr& who, const ReadBefore& read, std::unique_ptr<Batch> batch);
  // What the table has of cells of that time goes, and a line is drawn (Store::CommitBehindLine).
  // kConflict, and nothing goes: rows of it were changed by hand.
  Status BeginAnew(const PrincipalPtr& who, const TablePtr& table, const TimeRange& cells,
                   const CompleteBatch& complete);

  // Of jobs that write what they read.
  RemovalGate& gate() { return gate_; }
  // Of all tables' series that are followed. Whoever puts a schema in force tells it.
  SeriesKeeper& series() { return series_; }

 private:
  // What decides about a batch that was mapped; nothing: it is to be committed.
  void Decide(const EventTerms& terms, const std::optional<Error>& outside, EventWrite* write);
  void Take(EventWrite* write);
  void SettleSeries(const Status& committed, SeriesWrite* series);
  // Counts what a commit has put; the warnings for whoever sent it.
  std::vector<std::string> NoteWritten(const WrittenRows& rows);
  Status CheckNotFilling(const TableInfo& table) const;
  void Shrink(WriteKind kind, TableId table, const KeyRange& rows);

  const Parts parts_;
  RemovalGate gate_;
  SeriesKeeper series_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_WRITE_WRITER_H_
