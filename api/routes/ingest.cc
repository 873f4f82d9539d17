#include "api/routes/ingest.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <limits>

#include "api/errors_json.h"
#include "api/routes/preview_json.h"
#include "api/warnings.h"
#include "ingest/text/json.h"
#include "service/write/note_written.h"

namespace tallyd {

namespace {

Response RefusedBatch(const EventErrors& errors, size_t seen) {
  const EventError& first = errors.kept().front();
  return Problem(400,
                 fmt::format("{} of {} events refused, nothing was stored; the first: event {}: {}",
                             errors.count(), seen, first.index, first.detail),
                 JsonOfErrors(errors));
}

// What was not stored, and why: behind what was, or would be.
Json JsonOfRest(const MapOutcome& outcome) {
  Json rest = Json::object();
  if (outcome.held > 0) rest["held"] = outcome.held;
  if (outcome.expired > 0) rest["expired"] = outcome.expired;
  if (!outcome.errors.empty()) rest.update(JsonOfErrors(outcome.errors));
  return rest;
}

Response Counted(const MapOutcome& outcome, const std::vector<std::string>& warnings = {}) {
  std::string body = fmt::format(FMT_COMPILE("{{\"events\":{},\"rows\":{},\"cells\":{}"),
                                 outcome.events, outcome.rows, outcome.cells);
  Json rest = Json::object();
  AddWarnings(warnings, &rest);
  rest.update(JsonOfRest(outcome));
  AppendMembers(rest, &body);
  return Response::Json(200, body + "}");
}

Response Previewed(const PreviewBatch& preview, const Schema& schema, const MapOutcome& outcome,
                   const std::vector<std::string>& warnings) {
  std::string body = "{";
  AppendPreview(preview, schema, &body);
  Json rest = Json::object();
  AddWarnings(warnings, &rest);
  rest.update(JsonOfRest(outcome));
  AppendMembers(rest, &body);
  return Response::Json(200, body + "}");
}

Result<Mapper*> FindMapper(const SchemaSnapshot& snapshot, const std::string& name) {
  const Result<const Stream*> stream = FindStream(*snapshot.schema, name);
  if (!stream) return stream.error();
  return snapshot.mappers.at(name).get();
}

Error Unsupported(std::string message) {
  return Error(ErrorCode::kUnsupported, std::move(message));
}

Result<IngestHead> ParseHead(const Request& request, const SchemaSnapshot& snapshot) {
  IngestHead head;
  head.stream = request.arguments[0];
  head.peer = request.peer;
  if (Result<Mapper*> mapper = FindMapper(snapshot, head.stream); !mapper) return mapper.error();
  head.format = FindBodyFormat(request.content_type);
  if (head.format == nullptr) {
    return Unsupported("events come as one of " + BodyMediaTypes() +
                       ", in UTF-8, text/csv with a header line");
  }
  const auto encoding = ParseContentEncoding(request.content_encoding);
  if (!encoding) {
    return Unsupported("the Content-Encodings understood here are gzip, zstd, snappy and deflate");
  }
  head.encoding = *encoding;
  const Params& params = request.params;
  if (Status ok = params.RefuseUnknown({"dry_run", "guards", "partial"}); !ok) return ok.error();
  if (Status ok = params.RefuseRepeated(); !ok) return ok.error();
  Result<bool> dry_run = params.Flag("dry_run");
  if (!dry_run) return dry_run.error();
  Result<bool> partial = params.Flag("partial");
  if (!partial) return partial.error();
  const auto guards = params.Get("guards");
  if (guards && *guards != "off" && *guards != "on") {
    return Invalid(fmt::format("guards: '{}' is neither off nor on", *guards));
  }
  head.guarded = guards != "off";
  head.dry_run = *dry_run;
  head.partial = *partial;
  return head;
}

// Undoes the encoding into the workspace; the view has its padding.
Result<std::string_view> DecodedBody(ContentEncoding encoding, std::string_view body,
                                     ApiContext& context, IngestWorkspace& workspace) {
  if (encoding == ContentEncoding::kIdentity) return body;
  Status ok = Decompress(encoding, body, context.server.max_body, &workspace.decoded);
  if (!ok) return ok.error();
  workspace.decoded.reserve(workspace.decoded.size() + kBodyPadding);
  return std::string_view(workspace.decoded);
}

RejectReason ReasonOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kTooLarge:
      return RejectReason::kTooLarge;
    case ErrorCode::kUnsupported:
      return RejectReason::kUnsupported;
    case ErrorCode::kOverloaded:
      return RejectReason::kOverloaded;
    case ErrorCode::kInvalid:
    case ErrorCode::kUnprocessable:
    case ErrorCode::kNotFound:
    case ErrorCode::kConflict:
      return RejectReason::kMalformed;
    case ErrorCode::kUnavailable:
    case ErrorCode::kNoSpace:
    case ErrorCode::kCorruption:
    case ErrorCode::kIo:
    case ErrorCode::kCancelled:
      return RejectReason::kStorage;
  }
  return RejectReason::kStorage;
}

Response Rejected(const IngestHead& head, const Error& error, ApiContext& context) {
  context.rejects.Count(head.stream, ReasonOf(error.code()), error.message(), head.peer);
  return ProblemOf(error);
}

// Of a batch that is taken: what it stores is on the disk, the rest is held or has expired.
void Take(MapOutcome* outcome, ApiContext& context) {
  context.counters.Add(std::move(outcome->increments));
  context.metrics.events.Increment(static_cast<double>(outcome->events));
  context.metrics.expired.Increment(static_cast<double>(outcome->expired));
}

// The answer to a body that is no batch at all.
Response Undecodable(const Error& error, const EventErrors& errors) {
  return Problem(HttpStatus(error.code()), error.message(), JsonOfErrors(errors));
}

// What is known of a mapped batch before it is committed: the answer where it is not to be, and
// what its key is answered with.
void Decide(const IngestHead& head, size_t seen, const PreviewBatch& preview,
            const SchemaSnapshot& snapshot, ApiContext& context, PreparedBatch* prepared) {
  MapOutcome& outcome = prepared->outcome;
  const Status fits = context.row_sizes.Check(outcome.row_bytes);
  if (outcome.clock_error) {
    prepared->response = Rejected(head, *outcome.clock_error, context);
  } else if (!outcome.errors.empty() && !head.partial) {
    prepared->response = RefusedBatch(outcome.errors, seen);
    context.rejects.Count(head.stream, RejectReason::kEvent, prepared->response->problem,
                          head.peer);
  } else if (!fits) {
    prepared->response = Problem(400, fits.error().message());
    context.rejects.Count(head.stream, RejectReason::kEvent, fits.error().message(), head.peer);
  } else if (head.dry_run) {
    prepared->response = Previewed(preview, *snapshot.schema, outcome, prepared->warnings);
  } else if (!outcome.increments.empty() && context.counters.is_full()) {
    prepared->response = Rejected(
        head,
        Error(ErrorCode::kOverloaded, "counters that are held cannot be written at the moment"),
        context);
  } else if (outcome.increments.is_late()) {
    prepared->response = Rejected(
        head, Error(ErrorCode::kOverloaded, "a reload gave a table another row key meanwhile"),
        context);
  } else if (head.claim != nullptr) {
    const Response answer = Counted(outcome);
    const Status kept = head.claim->Remember({answer.status, answer.body}, prepared->batch.get());
    if (!kept) prepared->response = Rejected(head, kept.error(), context);
  } else if (prepared->batch->empty()) {
    Take(&outcome, context);
    prepared->response = Counted(outcome, prepared->warnings);
  }
  if (prepared->response) return;
  for (const auto& arrivals : prepared->arrivals) arrivals->Note(prepared->batch.get());
}

// Where the stream's events without a time get theirs.
ArrivalBlock* BeginArrivals(const Stream& stream, bool guarded, TimeUs now, ApiContext& context,
                            PreparedBatch* prepared) {
  constexpr int64_t kAnyLag = std::numeric_limits<int64_t>::max();
  const ArrivalBlock::Terms terms{now, stream.guards.max_future_us.value_or(kAnyLag),
                                  guarded ? stream.guards.min_time : 0};
  prepared->arrivals.push_back(
      std::make_unique<ArrivalBlock>(&context.arrivals, stream.name, terms));
  return prepared->arrivals.back().get();
}

}  // namespace

Result<IngestHead> ReadIngestHead(const Request& request, ApiContext& context) {
  const auto snapshot = context.snapshot();
  Result<IngestHead> head = ParseHead(request, *snapshot);
  if (!head) {
    const std::string& name = request.arguments[0];
    const bool known = snapshot->schema->FindStream(name) != nullptr;
    context.rejects.Count(known ? name : "", ReasonOf(head.error().code()), head.error().message(),
                          request.peer);
  }
  return head;
}

std::optional<KeyedRequest> KeyedBatch(std::string_view key, IngestHead* head,
                                       std::string_view* body, ApiContext& context,
                                       IngestWorkspace& workspace) {
  const Result<std::string_view> text = DecodedBody(head->encoding, *body, context, workspace);
  if (!text) return std::nullopt;
  *body = *text;
  head->encoding = ContentEncoding::kIdentity;
  const std::string about =
      fmt::format("{} {}{}", head->format->media_types.front(), head->partial ? "partial" : "whole",
                  head->guarded ? "" : " unguarded");
  return KeyedRequest{"events of " + head->stream, std::string(key), PrintOf(about, *body)};
}

PreparedBatch PrepareIngest(const IngestHead& head, std::string_view body, ApiContext& context,
                            IngestWorkspace& workspace) {
  PreparedBatch prepared;
  workspace.events.Clear();
  // The schema of now: a reload may have come while the body did.
  const auto snapshot = context.snapshot();
  if (Result<Mapper*> mapper = FindMapper(*snapshot, head.stream); !mapper) {
    IngestHead nobodys;  // The stream is none of the configuration any more.
    nobodys.peer = head.peer;
    prepared.response = Rejected(nobodys, mapper.error(), context);
    return prepared;
  }
  const Result<std::string_view> text = DecodedBody(head.encoding, body, context, workspace);
  if (!text) {
    prepared.response = Rejected(head, text.error(), context);
    return prepared;
  }
  EventBatch& events = workspace.events.Of(head.stream);
  Status decoded =
      workspace.decoder.Decode(*head.format, *text, context.ShapesOf(head.stream), &events);
  if (!decoded) {
    context.rejects.Count(head.stream, ReasonOf(decoded.error().code()), decoded.error().message(),
                          head.peer);
    prepared.response = Undecodable(decoded.error(), events.errors());
    return prepared;
  }
  PreviewBatch preview;
  if (!head.dry_run) prepared.batch = context.store.NewBatch();
  Batch* target = head.dry_run ? &preview : prepared.batch.get();
  MapOutcome& outcome = prepared.outcome;
  const TimeUs arrival = context.clock.Now();
  HeldCounters* const counters = head.dry_run ? nullptr : &context.counters;
  const RowSampling sampling = context.row_sizes.Sampling();
  for (const RequestEvents::Part& part : workspace.events.parts()) {
    Mapper& mapper = *snapshot->mappers.at(part.stream);
    const Stream& stream = *snapshot->schema->FindStream(part.stream);
    const MapTerms terms{head.guarded,
                         BeginArrivals(stream, head.guarded, arrival, context, &prepared)};
    outcome.Add(mapper.Map(*part.events, arrival, target, counters, sampling, terms));
    const std::vector<std::string>& warnings = part.events->warnings();
    prepared.warnings.insert(prepared.warnings.end(), warnings.begin(), warnings.end());
  }
  Decide(head, workspace.events.seen(), preview, *snapshot, context, &prepared);
  return prepared;
}

void NoteCommitted(PreparedBatch* prepared, ApiContext& context) {
  Take(&prepared->outcome, context);
}

Response AnswerIngest(const IngestHead& head, PreparedBatch& prepared, const Status& committed,
                      ApiContext& context) {
  if (!committed) return Rejected(head, committed.error(), context);
  std::vector<std::string> warnings = NoteWritten(prepared.outcome, context.write_parts());
  warnings.insert(warnings.end(), prepared.warnings.begin(), prepared.warnings.end());
  return Counted(prepared.outcome, warnings);
}

}  // namespace tallyd
