#include "ingest/decode/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ingest/decode/event_reader.h"
#include "ingest/decode/json_tokens.h"

namespace tallyd {
namespace {

// Some senders begin with a byte order mark; RFC 8259 section 8.1 lets a reader ignore it.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

struct EventDecoder::Impl {
  JsonTokens tokens;
  EventReader reader;

  Status DecodeJson(std::string_view body, ShapeRegistry& shapes, EventBatch* batch);
  void DecodeLines(std::string_view body, ShapeRegistry& shapes, EventBatch* batch);
  void DecodeLine(std::string_view line, size_t number, ShapeRegistry& shapes, EventBatch* batch);

  bool ReadBody();
  bool ReadArray();
  bool ReadEnvelope(std::string_view body, ShapeRegistry& shapes, EventBatch* batch);
  bool ReadToTheEnd();
};

EventDecoder::EventDecoder() : impl_(std::make_unique<Impl>()) {}
EventDecoder::~EventDecoder() = default;

Status EventDecoder::Decode(BodyFormat format, std::string_view body, ShapeRegistry& shapes,
                            EventBatch* batch) {
  batch->Clear();
  if (body.starts_with(kByteOrderMark)) body.remove_prefix(kByteOrderMark.size());
  Status status;
  switch (format) {
    case BodyFormat::kJson:
      status = impl_->DecodeJson(body, shapes, batch);
      break;
    case BodyFormat::kNdjson:
      impl_->DecodeLines(body, shapes, batch);
      break;
  }
  impl_->tokens.Shrink();
  return status;
}

Status EventDecoder::Impl::DecodeJson(std::string_view body, ShapeRegistry& shapes,
                                      EventBatch* batch) {
  SyntaxError error;
  switch (tokens.Scan(body)) {
    case JsonTokens::Scanned::kEmpty:
      batch->Break(0,
                   "the body is empty; send an event, an array of events, or {\"events\": [...]}");
      return Invalid(batch->errors().kept().front().detail);
    case JsonTokens::Scanned::kMalformed:
      error = LocateMalformed(body);
      break;
    case JsonTokens::Scanned::kOk:
      reader.Start(body, tokens.offsets(), shapes, batch);
      if (reader.OpensEnvelope() ? ReadEnvelope(body, shapes, batch) : ReadBody()) return {};
      error = reader.error();
      break;
  }
  const size_t index = EventIndexAt(body, error.offset);
  batch->Break(index,
               fmt::format("not JSON at byte {} (event {}): {}", error.offset, index, error.what));
  return Invalid(batch->errors().kept().front().detail);
}

// {"events": [...]}, unless it turns out to be an event with a field of that name beside others.
bool EventDecoder::Impl::ReadEnvelope(std::string_view body, ShapeRegistry& shapes,
                                      EventBatch* batch) {
  for (int i = 0; i < 3; ++i) reader.Take();  // { "events" :
  if (!ReadArray()) return false;
  if (reader.Peek() == ',') {
    batch->Clear();
    reader.Start(body, tokens.offsets(), shapes, batch);
    return ReadBody();
  }
  if (reader.Peek() != '}') return reader.Expected("'}'");
  reader.Take();
  return ReadToTheEnd();
}

// An event or an array of events, and nothing behind it.
bool EventDecoder::Impl::ReadBody() {
  switch (reader.Peek()) {
    case '[':
      return ReadArray() && ReadToTheEnd();
    case '{':
      return reader.ReadEvent() && ReadToTheEnd();
    default:
      return reader.Expected("an event, an array of events, or {\"events\": [...]}");
  }
}

bool EventDecoder::Impl::ReadToTheEnd() {
  if (reader.AtEnd()) return true;
  return reader.Expected(reader.Peek() == '{'
                             ? "nothing behind the event (one event per line is NDJSON: send "
                               "Content-Type: application/x-ndjson)"
                             : "nothing behind the last event");
}

bool EventDecoder::Impl::ReadArray() {
  reader.Take();
  if (reader.Peek() == ']') {
    reader.Take();
    return true;
  }
  while (true) {
    if (!reader.ReadEvent()) return false;
    const char c = reader.Peek();
    if (c != ',' && c != ']') return reader.Expected("',' or ']' behind an event");
    reader.Take();
    if (c == ']') return true;
  }
}

void EventDecoder::Impl::DecodeLines(std::string_view body, ShapeRegistry& shapes,
                                     EventBatch* batch) {
  for (size_t begin = 0, number = 1; begin < body.size(); ++number) {
    const size_t end = std::min(body.find('\n', begin), body.size());
    std::string_view line = body.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      DecodeLine(line, number, shapes, batch);
    }
  }
}

void EventDecoder::Impl::DecodeLine(std::string_view line, size_t number, ShapeRegistry& shapes,
                                    EventBatch* batch) {
  SyntaxError error;
  batch->BeginEvent();
  if (tokens.Scan(line) == JsonTokens::Scanned::kOk) {
    reader.Start(line, tokens.offsets(), shapes, batch);
    if (reader.ReadEvent(/*alone=*/true)) return;
    error = reader.error();
  } else {
    error = LocateMalformed(line);
  }
  batch->DropEvent(
      {{}, fmt::format("line {} is not JSON at byte {}: {}", number, error.offset, error.what)});
}

}  // namespace tallyd
