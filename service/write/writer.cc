#include "service/write/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "service/access/event_gate.h"
#include "service/write/hand_changes.h"
#include "service/write/held_removal.h"
#include "service/write/row_change.h"

namespace tallyd {
namespace {

using State = EventWrite::State;
using Cause = EventWrite::Cause;

// Of a key in a warning.
constexpr size_t kShownKeyBytes = 200;

void Refuse(Cause cause, Error error, EventWrite* write) {
  write->state = State::kRefused;
  write->cause = cause;
  write->error = std::move(error);
  write->series.Settle(false);
}

// Where the stream's events without a time get theirs.
ArrivalBlock::Terms ArrivalsOf(const Stream& stream, bool guarded, TimeUs now) {
  constexpr int64_t kAnyLag = std::numeric_limits<int64_t>::max();
  return {now, stream.guards.max_future_us.value_or(kAnyLag), guarded ? stream.guards.min_time : 0};
}

// What the stream's events may bring that is new.
SeriesBounds BoundsOf(const Stream& stream, const EventTerms& terms) {
  if (!terms.guarded) return {};
  return {stream.max_series.value_or(0), stream.max_fields.value_or(0)};
}

bool IsDelete(const Mutation& mutation) { return mutation.kind == Mutation::Kind::kDelete; }

// The tables of the schema that have a day each of this one.
std::vector<const Table*> NightlyTablesOf(const Schema& schema, std::string_view source) {
  std::vector<const Table*> nightly;
  for (const Table& table : schema.tables) {
    if (table.nightly && table.nightly->source == source) nightly.push_back(&table);
  }
  return nightly;
}

// The same of another table of the same shape; nothing where it has no such family.
std::optional<DeleteSpec> SameOf(const DeleteSpec& what, const TableInfo& from,
                                 const TableInfo& to) {
  DeleteSpec same = what;
  if (!what.family) return same;
  same.family = to.FindFamily(from.families[*what.family].name);
  return same.family ? std::optional(std::move(same)) : std::nullopt;
}

}  // namespace

EventWrite Writer::PrepareEvents(const PrincipalPtr& who, const RequestEvents& events,
                                 const EventTerms& terms) {
  EventWrite write;
  write.series = series_.Begin();
  write.snapshot = parts_.live_schema.snapshot();
  write.access = parts_.views.Of(write.snapshot, *who);
  std::optional<Error> outside;
  if (terms.dry_run) {
    write.preview = std::make_unique<PreviewBatch>();
  } else {
    write.batch = parts_.store.NewBatch();
  }
  Batch* const target = terms.dry_run ? write.preview.get() : write.batch.get();
  HeldCounters* const counters = terms.dry_run ? nullptr : &parts_.counters;
  const TimeUs now = parts_.clock.Now();
  const RowSampling sampling = parts_.row_sizes.Sampling();
  write.outcome.errors.Merge(events.errors());
  write.streams.reserve(events.parts().size());
  for (const RequestEvents::Part& part : events.parts()) {
    const Result<const Stream*> stream = FindStream(*write.snapshot->schema, part.stream);
    if (!stream) {
      Refuse(Cause::kStream, stream.error(), &write);
      return write;
    }
    EventWrite::OfStream& of = write.streams.emplace_back();
    of.stream = *stream;
    of.arrivals = std::make_unique<ArrivalBlock>(&parts_.arrivals, part.stream,
                                                 ArrivalsOf(**stream, terms.guarded, now));
    MapTerms by{terms.guarded, of.arrivals.get()};
    std::optional<EventGate> gate;
    if (write.access.is_scoped()) {
      gate.emplace(write.access, **stream);
      by.refuses = [&gate](const Event& event) { return gate->Refuses(event); };
    }
    const std::unique_ptr<SeriesGate> may =
        write.series.GateOf(write.snapshot->series.get(), part.stream, BoundsOf(**stream, terms));
    by.gate = may.get();
    MapOutcome mapped = write.snapshot->mappers.find(part.stream)
                            ->second->Map(*part.events, now, target, counters, sampling, by);
    if (gate && !outside) outside = gate->outside();
    of.events = mapped.events;
    of.held = mapped.held;
    of.expired = mapped.expired;
    of.refused = mapped.errors.count();
    of.newest = mapped.newest;
    write.outcome.Add(std::move(mapped));
    const std::vector<std::string>& warnings = part.events->warnings();
    write.warnings.insert(write.warnings.end(), warnings.begin(), warnings.end());
  }
  Decide(terms, outside, &write);
  // Nothing is waited for of what is not to be committed, however long its sender is answered.
  if (write.state != State::kReady) write.series.Settle(false);
  return write;
}

void Writer::Decide(const EventTerms& terms, const std::optional<Error>& outside,
                    EventWrite* write) {
  MapOutcome& outcome = write->outcome;
  const Status fits = parts_.row_sizes.Check(outcome.row_bytes);
  if (outcome.clock_error) return Refuse(Cause::kClock, *outcome.clock_error, write);
  if (outcome.is_uncounted) {
    Error why(ErrorCode::kUnavailable, "the stream's series are still being counted");
    return Refuse(Cause::kClock, std::move(why), write);
  }
  if (!outcome.errors.empty() && !terms.partial) {
    Error why = outside ? *outside : Invalid(outcome.errors.kept().front().detail);
    return Refuse(Cause::kEvents, std::move(why), write);
  }
  if (!fits) {
    // In a table that it does not see it may be others who made the row so large.
    const bool is_told = !write->access.is_scoped();
    return Refuse(Cause::kRowSize,
                  is_told ? fits.error()
                          : Error(fits.error().code(), "it would make a row larger than may be"),
                  write);
  }
  if (terms.dry_run) {
    write->state = State::kPreviewed;
    return;
  }
  if (!outcome.increments.empty() && parts_.counters.is_full()) {
    return Refuse(
        Cause::kHeldCounters,
        Error(ErrorCode::kOverloaded, "counters that are held cannot be written at the moment"),
        write);
  }
  if (outcome.increments.is_late()) {
    return Refuse(Cause::kHeldCounters,
                  Error(ErrorCode::kOverloaded, "a reload gave a table another row key meanwhile"),
                  write);
  }
  if (terms.claim != nullptr) {
    const Status kept = terms.claim->Remember(terms.answer(outcome), write->batch.get());
    if (!kept) return Refuse(Cause::kKey, kept.error(), write);
  } else if (write->batch->empty()) {
    Take(write);
    write->state = State::kDone;
    return;
  }
  for (const EventWrite::OfStream& of : write->streams) of.arrivals->Note(write->batch.get());
}

// What is taken is stored, the rest is held or has expired.
void Writer::Take(EventWrite* write) {
  parts_.counters.Add(std::move(write->outcome.increments));
  for (const EventWrite::OfStream& of : write->streams) {
    parts_.metrics.streams.Count(of.stream->name, of.events, of.newest);
  }
  parts_.metrics.expired.Increment(static_cast<double>(write->outcome.expired));
}

void Writer::Submit(EventWrite* write, CommitDone done) {
  CommitDone note = [this, write, done = std::move(done)](CommitOutcome outcome) {
    if (outcome) Take(write);
    SettleSeries(outcome.status(), &write->series);
    done(std::move(outcome));
  };
  parts_.store.Submit(std::move(write->batch), std::move(note));
  // What was submitted is committed in that order: who comes next may note times in its place.
  for (EventWrite::OfStream& of : write->streams) of.arrivals.reset();
}

// What failed may be there all the same, unless it was never queued.
void Writer::SettleSeries(const Status& committed, SeriesWrite* series) {
  const bool never = !committed && committed.error().code() == ErrorCode::kOverloaded;
  const std::vector<TableId> doubtful = committed ? std::vector<TableId>() : series->tables();
  series->Settle(!never);
  for (const TableId table : doubtful) series_.NoteRemoved(table, {});
}

void Writer::NoteCommitted(EventWrite* write) {
  std::vector<std::string> warnings = NoteWritten(write->outcome);
  if (write->access.is_scoped()) warnings.clear();  // Of rows that others write, too.
  write->warnings.insert(write->warnings.begin(), std::make_move_iterator(warnings.begin()),
                         std::make_move_iterator(warnings.end()));
}

Status Writer::Commit(EventWrite* write) {
  Status committed =
      WaitForCommit([this, write](CommitDone done) { Submit(write, std::move(done)); });
  if (committed) NoteCommitted(write);
  return committed;
}

std::vector<std::string> Writer::NoteWritten(const WrittenRows& rows) {
  parts_.metrics.rows.Increment(static_cast<double>(rows.rows));
  parts_.metrics.cells.Increment(static_cast<double>(rows.cells));
  parts_.heat.Add(HeatMetric::kWrites, rows.stems, parts_.clock.Now());
  const std::vector<RowSizes::LargeRow> large = parts_.row_sizes.Add(rows.row_bytes);
  parts_.metrics.large_values.Increment(static_cast<double>(rows.large_values));
  parts_.metrics.large_rows.Increment(static_cast<double>(large.size()));

  std::vector<std::string> warnings;
  if (rows.large_values > 0) {
    warnings.push_back(
        fmt::format("{} of its values have more than {} bytes, which a value should not",
                    rows.large_values, kRecommendedValueBytes));
  }
  for (const RowSizes::LargeRow& row : large) {
    warnings.push_back(fmt::format(
        "row {} of table {} has about {} bytes, and should not have more than {}",
        row.key.substr(0, kShownKeyBytes), row.table->name, row.bytes, kRecommendedRowBytes));
  }
  return warnings;
}

Status Writer::CheckNotFilling(const TableInfo& table) const {
  if (!gate_.IsFilling(table.name)) return {};
  return Error(ErrorCode::kConflict,
               fmt::format("table {} is being filled from another one, which would bring "
                           "it back: delete the events of the stream {}, or wait until it "
                           "is filled (/v1/status)",
                           table.name, table.stream));
}

void Writer::Shrink([[maybe_unused]] WriteKind kind, TableId table, const KeyRange& rows) {
  assert(Owes(kind, Duty::kRowSizes));
  parts_.row_sizes.Shrink(table, rows);
  series_.NoteRemoved(table, rows);
}

Result<RowWritten> Writer::ChangeRow(const PrincipalPtr& who, const RowWrite& write) {
  const TableInfo& stored = *write.stored;
  SeriesWrite series = series_.Begin();
  const std::shared_ptr<const SchemaSnapshot> snapshot = parts_.live_schema.snapshot();
  const Access access = parts_.views.Of(snapshot, *who);
  if (const RowClamp* const clamp = access.ClampOf(stored.name)) {
    if (!clamp->Admits(write.key)) return clamp->Outside();
  }
  const bool deletes = std::ranges::any_of(write.mutations, IsDelete);
  const RemovalGate::Held held = gate_.Hold();
  if (deletes) {
    if (Status may = CheckNotFilling(stored); !may) return may.error();
  }
  std::unique_ptr<Batch> batch = parts_.store.NewBatch();
  RowChange change({write.stored, write.table, write.key}, parts_.row_sizes.Sampling(),
                   batch.get());
  for (const Mutation& mutation : write.mutations) change.Add(mutation);
  RowWritten written{change.Finish(), {}};
  if (write.mutations.empty()) written.rows.rows = 0;
  // Nothing is known to be in a row that is replaced.
  const Status fits = change.replaces_row() ? RowSizes().Check(written.rows.row_bytes)
                                            : parts_.row_sizes.Check(written.rows.row_bytes);
  if (!fits) return fits.error();
  LearnFields(write.mutations, {write.stored, write.table, write.key}, batch.get());
  for (const Mutation& mutation : write.mutations) {
    NoteChange(write.table, write.key,
               IsDelete(mutation) ? std::optional<TimeUs>() : std::optional(mutation.time),
               parts_.clock.Now(), batch.get());
    NoteHandChange(stored.name, IsDelete(mutation) ? HandChange::kDeleted : HandChange::kWritten,
                   batch.get());
  }
  if (write.claim != nullptr) {
    const Status kept = write.claim->Remember(write.answer(written.rows), batch.get());
    if (!kept) return kept.error();
  }
  if (batch->empty()) return written;
  std::vector<HeldRemoval> counters;
  if (write.table.flush_us) {
    for (const DeleteSpec& what : change.deleted()) AddHeld(stored, what, &counters);
  }
  if (written.rows.rows > 0) series.NoteRow(snapshot->series.get(), stored.id, write.key);
  const auto done = CommitRemoval(&parts_.store, &parts_.counters, std::move(batch), counters);
  SettleSeries(done ? Status() : Status(done.error()), &series);
  if (!done) return done.error();
  if (deletes) Shrink(WriteKind::kRow, stored.id, RangeOfKey(write.key));
  written.warnings = NoteWritten(written.rows);
  return written;
}

Status Writer::RemoveRows(const PrincipalPtr& who, const TablePtr& table,
                          std::span<const DeleteSpec> what) {
  const RemovalGate::Held held = gate_.Hold();
  if (Status may = CheckNotFilling(*table); !may) return may;
  const std::shared_ptr<const SchemaSnapshot> snapshot = parts_.live_schema.snapshot();
  const Access access = parts_.views.Of(snapshot, *who);
  if (const RowClamp* const clamp = access.ClampOf(table->name)) {
    const auto is_own = [clamp](const DeleteSpec& each) { return clamp->Owns(each.rows); };
    if (!std::ranges::all_of(what, is_own)) return clamp->Outside();
  }
  std::unique_ptr<Batch> batch = parts_.store.NewBatch();
  std::vector<HeldRemoval> counters;
  const bool may_hold = MayHold(*snapshot->schema, *table);
  for (const DeleteSpec& each : what) {
    batch->Delete(*table, each);
    if (may_hold) AddHeld(*table, each, &counters);
  }
  NoteHandChange(table->name, HandChange::kDeleted, batch.get());
  // The nightly tables there are: none takes its name while the gate is held, and one that is being
  // made is copied again.
  std::vector<TablePtr> touched = {table};
  const Table* const configured = snapshot->schema->FindTable(table->name);
  if (configured != nullptr && configured->daily) gate_.NoteRemoval(table->stream);
  for (const Table* nightly : NightlyTablesOf(*snapshot->schema, table->name)) {
    const TablePtr copy = parts_.store.FindTable(nightly->name);
    if (copy == nullptr) continue;
    for (const DeleteSpec& each : what) {
      if (const auto same = SameOf(each, *table, *copy)) batch->Delete(*copy, *same);
    }
    touched.push_back(copy);
  }
  const Result<uint64_t> done =
      CommitRemoval(&parts_.store, &parts_.counters, std::move(batch), counters);
  if (!done) return done.error();
  for (const TablePtr& each : touched) {
    for (const DeleteSpec& gone : what) Shrink(WriteKind::kRemoveRows, each->id, gone.rows);
  }
  return {};
}

Status Writer::RemoveTable(const PrincipalPtr& /*who*/, const TablePtr& table) {
  const RemovalGate::Held held = gate_.Hold();
  if (Status dropped = parts_.store.DropTable(table->name); !dropped) return dropped;
  std::unique_ptr<Batch> batch = parts_.store.NewBatch();
  ForgetHandChanges(table->name, batch.get());
  if (Status done = parts_.store.Commit(std::move(batch)); !done) return done;
  Shrink(WriteKind::kRemoveRows, table->id, {});
  return {};
}

Result<uint64_t> Writer::RemoveEvents(const PrincipalPtr& /*who*/,
                                      [[maybe_unused]] const RemovalGate::Held& held,
                                      EventDeletes deletes) {
  assert(held.owns_lock());
  gate_.NoteRemoval(deletes.stream);
  const Result<uint64_t> rows =
      CommitRemoval(&parts_.store, &parts_.counters, std::move(deletes.batch), deletes.held);
  if (!rows) return rows;
  for (const TableId table : deletes.tables) Shrink(WriteKind::kRemoveEvents, table, {});
  return rows;
}

Status Writer::PutCopied(const PrincipalPtr& /*who*/, std::unique_ptr<Batch> batch) {
  return parts_.store.Commit(std::move(batch));
}

Status Writer::PutRead(const PrincipalPtr& /*who*/, const ReadBefore& read,
                       std::unique_ptr<Batch> batch) {
  const bool marks = read.late != nullptr && Owes(read.kind, Duty::kNightlyTables);
  if (marks) read.late->PutMarks(batch.get());
  const auto entered = gate_.Enter(read.stream, read.removals);
  if (!entered) return Error(ErrorCode::kConflict, "events were removed meanwhile");
  SeriesWrite series = series_.Begin();
  const std::shared_ptr<const SchemaSnapshot> snapshot = parts_.live_schema.snapshot();
  if (read.stems != nullptr && snapshot != nullptr) {
    series.NoteRows(snapshot->series.get(), *read.stems);
  }
  Status committed = parts_.store.CommitUnlessTouched(std::move(batch), read.watch);
  SettleSeries(committed, &series);
  return committed;
}

Status Writer::BeginAnew(const PrincipalPtr& /*who*/, const TablePtr& table, const TimeRange& cells,
                         const CompleteBatch& complete) {
  const RemovalGate::Alone alone = gate_.EnterAlone();
  if (WasChangedByHand(table->name, &parts_.store)) {
    return Error(ErrorCode::kConflict,
                 "rows of table " + table->name + " were changed by their keys meanwhile");
  }
  std::unique_ptr<Batch> batch = parts_.store.NewBatch();
  DeleteSpec what;
  what.cells = cells;
  batch->Delete(*table, what);
  const std::shared_ptr<const SchemaSnapshot> snapshot = parts_.live_schema.snapshot();
  for (const Table* nightly : NightlyTablesOf(*snapshot->schema, table->name)) {
    batch->PutMemo(LateMark(table->name, nightly->nightly->day), "1", NoteOrder::kBefore);
  }
  Status committed = parts_.store.CommitBehindLine(std::move(batch), complete);
  if (committed) Shrink(WriteKind::kFillAnew, table->id, {});
  return committed;
}

}  // namespace tallyd
