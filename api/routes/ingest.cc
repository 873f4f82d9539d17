#include "api/routes/ingest.h"

#include <fmt/format.h>

#include <boost/beast/core/string.hpp>

#include "api/cell_json.h"
#include "api/routes/preview_json.h"
#include "config/glob.h"
#include "ingest/decompress.h"

namespace tallyd {

namespace {

std::string_view MediaType(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.starts_with(' ')) type.remove_prefix(1);
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type;
}

std::optional<BodyFormat> FormatOf(std::string_view content_type) {
  const std::string_view type = MediaType(content_type);
  for (const char* json :
       {"", "application/json", "text/json", "application/x-www-form-urlencoded"}) {
    if (boost::beast::iequals(type, json)) return BodyFormat::kJson;
  }
  for (const char* ndjson : {"application/x-ndjson", "application/ndjson", "application/jsonlines",
                             "application/json-lines"}) {
    if (boost::beast::iequals(type, ndjson)) return BodyFormat::kNdjson;
  }
  return std::nullopt;
}

struct Options {
  bool dry_run = false;
  bool partial = false;
};

Result<Options> ParseOptions(const Params& params) {
  if (Status ok = params.RefuseUnknown({"dry_run", "partial"}); !ok) return ok.error();
  Options options;
  Result<bool> dry_run = params.Flag("dry_run");
  if (!dry_run) return dry_run.error();
  Result<bool> partial = params.Flag("partial");
  if (!partial) return partial.error();
  options.dry_run = *dry_run;
  options.partial = *partial;
  return options;
}

std::string ErrorsJson(const EventErrors& errors) {
  std::string out = ",\"errors\":[";
  for (const EventError& error : errors.kept()) {
    if (out.back() != '[') out.push_back(',');
    fmt::format_to(std::back_inserter(out), "{{\"index\":{}", error.index);
    if (!error.field.empty()) {
      out += ",\"field\":";
      AppendJsonString(error.field, &out);
    }
    out += ",\"detail\":";
    AppendJsonString(error.detail, &out);
    out.push_back('}');
  }
  fmt::format_to(std::back_inserter(out), "],\"error_count\":{}", errors.count());
  return out;
}

Response RefusedBatch(const EventErrors& errors, size_t seen) {
  const EventError& first = errors.kept().front();
  return Problem(400,
                 fmt::format("{} of {} events refused, nothing was stored; the first: event {}: {}",
                             errors.count(), seen, first.index, first.detail),
                 ErrorsJson(errors));
}

std::string CountsJson(const MapOutcome& outcome) {
  std::string body = fmt::format(R"({{"events":{},"rows":{},"cells":{})", outcome.events,
                                 outcome.rows, outcome.cells);
  if (outcome.expired > 0) {
    fmt::format_to(std::back_inserter(body), ",\"expired\":{}", outcome.expired);
  }
  return body;
}

Response Counted(const MapOutcome& outcome) {
  std::string body = CountsJson(outcome);
  if (!outcome.errors.empty()) body += ErrorsJson(outcome.errors);
  return Response::Json(200, body + "}");
}

Response UnknownStream(std::string_view name, const Schema& schema) {
  std::vector<std::string> names;
  for (const Stream& stream : schema.streams) names.push_back(stream.name);
  return Problem(
      404, fmt::format("there is no stream \"{}\"; {}: {}", name,
                       names.size() <= 10 ? "the streams are" : "the nearest are",
                       fmt::join(names.size() <= 10 ? names : NearestNames(name, names), ", ")));
}

// Undoes the encoding into the workspace; the view has its padding.
Result<std::string_view> DecodedBody(const Request& request, ApiContext& context,
                                     IngestWorkspace& workspace) {
  const ContentEncoding encoding = *ParseContentEncoding(request.content_encoding);
  if (encoding == ContentEncoding::kIdentity) return request.body;
  Status ok = Decompress(encoding, request.body, context.server.max_body, &workspace.decoded);
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

Response Rejected(const Error& error, ApiContext& context) {
  context.metrics.CountReject(ReasonOf(error.code()));
  return ProblemOf(error);
}

// The answer to a body that is no batch at all.
Response Undecodable(const Error& error, const EventErrors& errors, ApiContext& context) {
  context.metrics.CountReject(ReasonOf(error.code()));
  return Problem(HttpStatus(error.code()), error.message(), ErrorsJson(errors));
}

}  // namespace

std::optional<Response> CheckIngest(const Request& request, ApiContext& context) {
  const auto snapshot = context.snapshot();
  const std::string& name = request.arguments[0];
  if (snapshot->mappers.find(name) == snapshot->mappers.end()) {
    context.metrics.CountReject(RejectReason::kMalformed);
    return UnknownStream(name, *snapshot->schema);
  }
  if (!FormatOf(request.content_type)) {
    context.metrics.CountReject(RejectReason::kUnsupported);
    return Problem(415, "events come as application/json or application/x-ndjson");
  }
  if (!ParseContentEncoding(request.content_encoding)) {
    context.metrics.CountReject(RejectReason::kUnsupported);
    return Problem(415, "the Content-Encodings understood here are gzip, zstd, snappy and deflate");
  }
  if (Result<Options> options = ParseOptions(request.params); !options) {
    return Rejected(options.error(), context);
  }
  return std::nullopt;
}

IngestPlan PrepareIngest(const Request& request, ApiContext& context, IngestWorkspace& workspace) {
  IngestPlan plan;
  if ((plan.response = CheckIngest(request, context))) return plan;
  const Options options = *ParseOptions(request.params);
  const auto snapshot = context.snapshot();
  workspace.events.Clear();
  Result<std::string_view> body = DecodedBody(request, context, workspace);
  if (!body) {
    plan.response = Rejected(body.error(), context);
    return plan;
  }
  const std::string& stream = request.arguments[0];
  Status decoded = workspace.decoder.Decode(*FormatOf(request.content_type), *body,
                                            context.ShapesOf(stream), &workspace.events);
  if (!decoded) {
    plan.response = Undecodable(decoded.error(), workspace.events.errors(), context);
    return plan;
  }
  Mapper& mapper = *snapshot->mappers.find(stream)->second;
  PreviewBatch preview;
  if (!options.dry_run) plan.batch = context.store.NewBatch();
  Batch* target = options.dry_run ? &preview : plan.batch.get();
  plan.outcome = mapper.Map(workspace.events, context.clock.Now(), target);
  if (!plan.outcome.errors.empty() && !options.partial) {
    context.metrics.CountReject(RejectReason::kEvent);
    plan.response = RefusedBatch(plan.outcome.errors, workspace.events.seen());
  } else if (options.dry_run) {
    plan.response = Response::Json(
        200, PreviewJson(preview, *snapshot->schema) +
                 (plan.outcome.errors.empty() ? "" : ErrorsJson(plan.outcome.errors)) + "}");
  } else if (plan.batch->empty()) {
    plan.response = Counted(plan.outcome);
    context.metrics.expired.Increment(static_cast<double>(plan.outcome.expired));
  }
  return plan;
}

Response AnswerIngest(const IngestPlan& plan, const Status& committed, ApiContext& context) {
  if (!committed) return Rejected(committed.error(), context);
  context.metrics.events.Increment(static_cast<double>(plan.outcome.events));
  context.metrics.rows.Increment(static_cast<double>(plan.outcome.rows));
  context.metrics.cells.Increment(static_cast<double>(plan.outcome.cells));
  context.metrics.expired.Increment(static_cast<double>(plan.outcome.expired));
  return Counted(plan.outcome);
}

}  // namespace tallyd
