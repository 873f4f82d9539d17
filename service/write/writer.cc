#include "service/write/writer.h"

#include <iterator>
#include <limits>
#include <utility>

#include "service/write/note_written.h"

namespace tallyd {
namespace {

using State = EventWrite::State;
using Cause = EventWrite::Cause;

void Refuse(Cause cause, Error error, EventWrite* write) {
  write->state = State::kRefused;
  write->cause = cause;
  write->error = std::move(error);
}

// Where the stream's events without a time get theirs.
ArrivalBlock::Terms ArrivalsOf(const Stream& stream, bool guarded, TimeUs now) {
  constexpr int64_t kAnyLag = std::numeric_limits<int64_t>::max();
  return {now, stream.guards.max_future_us.value_or(kAnyLag),
          guarded ? stream.guards.min_time : 0};
}

}  // namespace

EventWrite Writer::PrepareEvents(const PrincipalPtr& /*who*/, const RequestEvents& events,
                                 const EventTerms& terms) {
  EventWrite write;
  write.snapshot = parts_.live_schema.snapshot();
  if (terms.dry_run) {
    write.preview = std::make_unique<PreviewBatch>();
  } else {
    write.batch = parts_.store.NewBatch();
  }
  Batch* const target = terms.dry_run ? write.preview.get() : write.batch.get();
  HeldCounters* const counters = terms.dry_run ? nullptr : &parts_.counters;
  const TimeUs now = parts_.clock.Now();
  const RowSampling sampling = parts_.row_sizes.Sampling();
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
    MapOutcome mapped = write.snapshot->mappers.find(part.stream)
                            ->second->Map(*part.events, now, target, counters, sampling,
                                          {terms.guarded, of.arrivals.get()});
    of.events = mapped.events;
    of.held = mapped.held;
    of.expired = mapped.expired;
    of.refused = mapped.errors.count();
    write.outcome.Add(std::move(mapped));
    const std::vector<std::string>& warnings = part.events->warnings();
    write.warnings.insert(write.warnings.end(), warnings.begin(), warnings.end());
  }
  Decide(terms, &write);
  return write;
}

void Writer::Decide(const EventTerms& terms, EventWrite* write) {
  MapOutcome& outcome = write->outcome;
  const Status fits = parts_.row_sizes.Check(outcome.row_bytes);
  if (outcome.clock_error) return Refuse(Cause::kClock, *outcome.clock_error, write);
  if (!outcome.errors.empty() && !terms.partial) {
    return Refuse(Cause::kEvents, Invalid(outcome.errors.kept().front().detail), write);
  }
  if (!fits) return Refuse(Cause::kRowSize, fits.error(), write);
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
    return Refuse(
        Cause::kHeldCounters,
        Error(ErrorCode::kOverloaded, "a reload gave a table another row key meanwhile"), write);
  }
  if (terms.claim != nullptr) {
    const Status kept = terms.claim->Remember(terms.answer(outcome), write->batch.get());
    if (!kept) return Refuse(Cause::kKey, kept.error(), write);
  } else if (write->batch->empty()) {
    Take(&outcome);
    write->state = State::kDone;
    return;
  }
  for (const EventWrite::OfStream& of : write->streams) of.arrivals->Note(write->batch.get());
}

// What is taken is stored, the rest is held or has expired.
void Writer::Take(MapOutcome* outcome) {
  parts_.counters.Add(std::move(outcome->increments));
  parts_.metrics.events.Increment(static_cast<double>(outcome->events));
  parts_.metrics.expired.Increment(static_cast<double>(outcome->expired));
}

void Writer::Submit(EventWrite* write, CommitDone done) {
  CommitDone note = [this, write, done = std::move(done)](Status committed) {
    if (committed) Take(&write->outcome);
    done(std::move(committed));
  };
  parts_.store.Submit(std::move(write->batch), std::move(note));
  // What was submitted is committed in that order: who comes next may note times in its place.
  for (EventWrite::OfStream& of : write->streams) of.arrivals.reset();
}

void Writer::NoteCommitted(EventWrite* write) {
  std::vector<std::string> warnings = NoteWritten(
      write->outcome, {parts_.metrics, parts_.heat, parts_.row_sizes, parts_.clock});
  write->warnings.insert(write->warnings.begin(), std::make_move_iterator(warnings.begin()),
                         std::make_move_iterator(warnings.end()));
}

Status Writer::Commit(EventWrite* write) {
  Status committed =
      WaitForCommit([this, write](CommitDone done) { Submit(write, std::move(done)); });
  if (committed) NoteCommitted(write);
  return committed;
}

}  // namespace tallyd
