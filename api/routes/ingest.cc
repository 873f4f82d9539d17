#include "api/routes/ingest.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include "api/access/credentials.h"
#include "api/endpoint/plain_body.h"
#include "api/errors_json.h"
#include "api/routes/preview_json.h"
#include "api/warnings.h"
#include "ingest/text/json.h"

namespace tallyd {

namespace {

Response RefusedBatch(const Error& why, const EventErrors& errors, size_t seen) {
  const EventError& first = errors.kept().front();
  const std::string which = why.code() == ErrorCode::kForbidden
                                ? why.message()
                                : fmt::format("the first: event {}: {}", first.index, first.detail);
  return Problem(
      HttpStatus(why.code()),
      fmt::format("{} of {} events refused, nothing was stored; {}", errors.count(), seen, which),
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

// What its Idempotency-Key is answered with from then on.
KeyedAnswer RememberedAnswer(const MapOutcome& outcome) {
  Response answer = Counted(outcome);
  return {answer.status, std::move(answer.body)};
}

Response Previewed(const EventWrite& write) {
  std::string body = "{";
  AppendPreview(*write.preview, write.access, &body);
  Json rest = Json::object();
  AddWarnings(write.warnings, &rest);
  rest.update(JsonOfRest(write.outcome));
  AppendMembers(rest, &body);
  return Response::Json(200, body + "}");
}

Error Unsupported(std::string message) {
  return Error(ErrorCode::kUnsupported, std::move(message));
}

Result<IngestHead> ParseHead(const Request& request, const SchemaSnapshot& snapshot) {
  IngestHead head;
  head.principal = request.principal;
  head.stream = request.arguments[0];
  head.peer = request.peer;
  const Result<const Stream*> stream = FindStream(*snapshot.schema, head.stream);
  if (!stream) return stream.error();
  head.format = FindBodyFormat(request.content_type);
  if (head.format == nullptr) {
    return Unsupported("events come as one of " + BodyMediaTypes() +
                       ", in UTF-8, text/csv with a header line");
  }
  const Result<ContentEncoding> encoding = EncodingOf(request);
  if (!encoding) return encoding.error();
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

Response Rejected(const IngestHead& head, const Error& error, ApiContext& context) {
  context.rejects.Count(head.stream, ReasonOf(error.code()), error.message(), head.peer);
  return ProblemOf(error);
}

// The answer to a body that is no batch at all.
Response Undecodable(const Error& error, const EventErrors& errors) {
  return Problem(HttpStatus(error.code()), error.message(), JsonOfErrors(errors));
}

// `seen`: the request's events, bad ones included.
Response Refused(const IngestHead& head, size_t seen, const EventWrite& write,
                 ApiContext& context) {
  switch (write.cause) {
    case EventWrite::Cause::kEvents: {
      Response response = RefusedBatch(*write.error, write.outcome.errors, seen);
      context.rejects.Count(head.stream, RejectReason::kEvent, response.problem, head.peer);
      return response;
    }
    case EventWrite::Cause::kRowSize:
      context.rejects.Count(head.stream, RejectReason::kEvent, write.error->message(), head.peer);
      return ProblemOf(*write.error);
    case EventWrite::Cause::kStream:
      // A reload took it meanwhile: it is no label any more.
      context.rejects.Count("", ReasonOf(write.error->code()), write.error->message(), head.peer);
      return ProblemOf(*write.error);
    case EventWrite::Cause::kNone:
    case EventWrite::Cause::kClock:
    case EventWrite::Cause::kHeldCounters:
    case EventWrite::Cause::kKey:
      break;
  }
  return Rejected(head, *write.error, context);
}

}  // namespace

Result<IngestHead> ReadIngestHead(const Request& request, ApiContext& context) {
  const auto snapshot = context.snapshot();
  Result<IngestHead> head = ParseHead(request, *snapshot);
  if (!head) {
    const std::string& name = request.arguments[0];
    const bool known = snapshot->schema->FindStream(name) != nullptr;
    context.rejects.Count(known ? name : "", ReasonOf(head.error().code()),
                          WithoutTokens(head.error().message()), request.peer);
  }
  return head;
}

std::optional<KeyedRequest> KeyedBatch(std::string_view key, IngestHead* head,
                                       std::string_view* body, ApiContext& context,
                                       IngestWorkspace& workspace) {
  const Result<std::string_view> text = PlainBody(head->encoding, *body, context, workspace);
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
  const Result<std::string_view> text = PlainBody(head.encoding, body, context, workspace);
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
  const EventTerms terms{head.guarded, head.partial, head.dry_run, head.claim, &RememberedAnswer};
  EventWrite& write = prepared.write;
  write = context.writer.PrepareEvents(head.principal, workspace.events, terms);
  switch (write.state) {
    case EventWrite::State::kRefused:
      prepared.response = Refused(head, workspace.events.seen(), write, context);
      break;
    case EventWrite::State::kPreviewed:
      prepared.response = Previewed(write);
      break;
    case EventWrite::State::kDone:
      prepared.response = Counted(write.outcome, write.warnings);
      break;
    case EventWrite::State::kReady:
      break;
  }
  return prepared;
}

Response AnswerIngest(const IngestHead& head, PreparedBatch& prepared, const Status& committed,
                      ApiContext& context) {
  if (!committed) return Rejected(head, committed.error(), context);
  context.writer.NoteCommitted(&prepared.write);
  return Counted(prepared.write.outcome, prepared.write.warnings);
}

}  // namespace tallyd
