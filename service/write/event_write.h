// EventWrite: the events of one request on their way into the store, of one stream or of many, all
// in one commit. The writer prepares it, submits it and counts what it wrote (writer.h).
//
// A plain value. Between Writer::Submit and the call of its CommitDone nobody else touches it.
#ifndef TALLYD_SERVICE_WRITE_EVENT_WRITE_H_
#define TALLYD_SERVICE_WRITE_EVENT_WRITE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/values/result.h"
#include "ingest/map/mapper.h"
#include "ingest/times/arrivals.h"
#include "service/access/schema_view.h"
#include "service/idempotency/keys.h"
#include "service/live_schema.h"
#include "service/series/series_write.h"
#include "storage/batch.h"

namespace tallyd {

// What whoever sends events asks for.
struct EventTerms {
  bool guarded = true;   // The streams' guards hold (IngestGuards).
  bool partial = false;  // Good events are stored where others are bad.
  bool dry_run = false;  // Nothing is stored: what would be is shown.
  // The events came with an Idempotency-Key: what `answer` makes of them is remembered for it, in
  // the same commit. Null: they came without one.
  const KeyClaim* claim = nullptr;
  KeyedAnswer (*answer)(const MapOutcome& outcome) = nullptr;
};

struct EventWrite {
  enum class State : uint8_t {
    kRefused,    // Nothing is stored, and `error` says why; `cause` says it to who counts.
    kPreviewed,  // A dry run: `preview` has what would be stored.
    kDone,       // All is done without a commit: nothing came, or all of it is held or has expired.
    kReady,      // To be submitted.
  };
  enum class Cause : uint8_t {
    kNone,
    kStream,        // One of its streams is none of the configuration.
    kEvents,        // Some of its events, which outcome.errors tells; kForbidden: another's.
    kRowSize,       // A row would grow too large.
    kClock,         // No time can be judged or given now, or no series counted.
    kHeldCounters,  // What is to be held in memory cannot be: the next try finds it otherwise.
    kKey,           // The answer cannot be remembered.
  };
  // Of one stream's events in the request. What went wrong with which of them is in outcome.errors,
  // whose indexes count the events of the whole request.
  struct OfStream {
    const Stream* stream = nullptr;  // Of the snapshot.
    size_t events = 0;               // As MapOutcome counts them, like the next two.
    uint64_t held = 0;
    uint64_t expired = 0;
    size_t refused = 0;
    std::optional<TimeUs> newest;  // Of what is stored of them.
    // The times of arrival that its events have, until they were submitted.
    std::unique_ptr<ArrivalBlock> arrivals;
  };

  // What it may bring of new series and fields: before all that is looked at, and after all else.
  SeriesWrite series;
  State state = State::kReady;
  Cause cause = Cause::kNone;
  std::optional<Error> error;
  std::shared_ptr<const SchemaSnapshot> snapshot;  // By which they were mapped.
  Access access;                                   // Of who wrote them, to the same.
  std::vector<OfStream> streams;                   // In the order in which the request names them.
  MapOutcome outcome;                              // Of all streams together.
  std::vector<std::string> warnings;               // What their sender should know beside.
  std::unique_ptr<PreviewBatch> preview;           // Of a dry run.
  std::unique_ptr<Batch> batch;                    // Until it was submitted.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_WRITE_EVENT_WRITE_H_
