#include "api/influx/write_lines.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ingest/lines/line_protocol.h"
#include "ingest/text/json.h"
#include "service/metrics/rejects.h"

namespace tallyd {
namespace {

// Of what is told line by line in one text; further ones are only counted.
constexpr size_t kLinesInText = 10;

struct BadLine {
  LinePlace place;
  std::string_view reason;
};

// Those that are kept, in order. Views of the body and of `errors`.
std::vector<BadLine> BadLinesOf(std::string_view body, const EventErrors& errors) {
  std::vector<size_t> indexes;
  for (const EventError& error : errors.kept()) indexes.push_back(error.index);
  const std::vector<LinePlace> places = FindLines(body, indexes);
  std::vector<BadLine> lines;
  for (size_t i = 0; i < places.size(); ++i) lines.push_back({places[i], errors.kept()[i].detail});
  return lines;
}

std::string TextOf(const BadLine& line) {
  return fmt::format("unable to parse '{}': {}", Shown(line.place.text), line.reason);
}

std::string TextOf(const std::vector<BadLine>& lines) {
  std::string text;
  for (size_t i = 0; i < lines.size() && i < kLinesInText; ++i) {
    text.append(text.empty() ? "" : "\n").append(TextOf(lines[i]));
  }
  return text;
}

Json JsonOf(const BadLine& line) {
  return {{"original_line", Shown(line.place.text)},
          {"line_number", line.place.number},
          {"error_message", line.reason}};
}

Response InV3(std::string_view message, Json data, std::string_view problem) {
  Response answer = Response::Of(400, Json{{"error", message}, {"data", std::move(data)}});
  AddInfluxHeaders(&answer);
  answer.problem = problem;
  return answer;
}

// Nothing of the request is stored.
Response RefusedWhole(InfluxDialect dialect, const std::vector<BadLine>& lines) {
  if (dialect == InfluxDialect::kV3) {
    Json first = lines.empty() ? Json::object() : JsonOf(lines.front());
    return InV3("parsing failed for write_lp endpoint", std::move(first), TextOf(lines));
  }
  return InfluxError(dialect, 400, TextOf(lines));
}

// What is good is stored.
Response StoredInPart(InfluxDialect dialect, const std::vector<BadLine>& lines, size_t dropped) {
  const std::string partial = fmt::format("partial write: {} dropped={}", TextOf(lines), dropped);
  switch (dialect) {
    case InfluxDialect::kV1:
      return InfluxError(dialect, 400, partial);
    case InfluxDialect::kV2:
      return InfluxError(dialect, 422, "failure writing points to database: " + partial);
    case InfluxDialect::kV3:
      break;
  }
  Json data = Json::array();
  for (const BadLine& line : lines) data.push_back(JsonOf(line));
  return InV3("partial write of line protocol occurred", std::move(data), partial);
}

Response Stored() {
  Response answer;
  answer.status = 204;
  AddInfluxHeaders(&answer);
  return answer;
}

// The streams of one request's lines, each looked up once.
class LineStreams {
 public:
  LineStreams(const InfluxConfig& protocol, ApiContext& context, RequestEvents* events)
      : protocol_(protocol),
        context_(context),
        events_(events),
        snapshot_(context.snapshot()) {}

  const LineStream* Find(std::string_view measurement) {
    const std::string_view name = protocol_.has_fixed_stream() ? protocol_.stream : measurement;
    const auto known = streams_.find(name);
    if (known != streams_.end()) return &known->second;
    const Stream* const stream = snapshot_->schema->FindStream(name);
    if (stream == nullptr) return nullptr;
    LineStream& added = streams_[std::string(name)];
    added = {&events_->Of(name), &context_.ShapesOf(name), stream->time_field, stream->unit};
    return &added;
  }

 private:
  const InfluxConfig& protocol_;
  ApiContext& context_;
  RequestEvents* const events_;
  const std::shared_ptr<const SchemaSnapshot> snapshot_;
  std::map<std::string, LineStream, std::less<>> streams_;
};

// Where a request as a whole is counted: each of many streams has a part in it.
std::string_view CountedUnder(const InfluxConfig& protocol, ApiContext& context) {
  const bool is_known = protocol.has_fixed_stream() &&
                        context.snapshot()->schema->FindStream(protocol.stream) != nullptr;
  return is_known ? std::string_view(protocol.stream) : std::string_view();
}

}  // namespace

Response FailedLines(const InfluxWriter& who, const Error& error, ApiContext& context) {
  context.rejects.Count(CountedUnder(who.protocol, context), ReasonOf(error.code()),
                        error.message(), who.peer);
  return InfluxErrorOf(who.dialect, error);
}

InfluxWrite PrepareLines(const InfluxWriter& who, const InfluxWriteHead& head,
                         std::string_view body, ApiContext& context, IngestWorkspace& workspace) {
  InfluxWrite prepared;
  RequestEvents& events = workspace.events;
  events.Clear();
  if (body.empty() && who.dialect == InfluxDialect::kV1) {
    AddInfluxHeaders(&prepared.answer);
    return prepared;
  }
  LineStreams streams(who.protocol, context, &events);
  LineForm form{head.precision, {}};
  if (who.protocol.has_fixed_stream()) form.measurement_field = kMeasurementField;
  workspace.lines.Decode(
      body, form, [&](std::string_view measurement) { return streams.Find(measurement); }, &events);
  const size_t malformed = workspace.lines.malformed();
  EventTerms terms;
  terms.partial = who.dialect == InfluxDialect::kV2 ? malformed == 0 : head.accepts_partial;
  prepared.write = context.writer.PrepareEvents(who.principal, events, terms);
  EventWrite& write = prepared.write;
  const EventErrors& errors = write.outcome.errors;
  const bool is_refused = write.state == EventWrite::State::kRefused;
  if (is_refused && write.cause != EventWrite::Cause::kEvents) {
    prepared.answer = FailedLines(who, *write.error, context);
    return prepared;
  }
  prepared.to_commit = write.state == EventWrite::State::kReady;
  if (errors.empty()) {
    prepared.answer = Stored();
    return prepared;
  }
  const std::vector<BadLine> lines = BadLinesOf(body, errors);
  const bool is_unread = who.dialect == InfluxDialect::kV1 && malformed == events.seen();
  prepared.answer = is_refused || is_unread
                        ? RefusedWhole(who.dialect, lines)
                        : StoredInPart(who.dialect, lines, errors.count());
  context.rejects.Count(CountedUnder(who.protocol, context), RejectReason::kEvent,
                        prepared.answer.problem, who.peer);
  return prepared;
}

}  // namespace tallyd
