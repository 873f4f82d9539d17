#include "ingest/decode/json_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ingest/decode/event_reader.h"
#include "ingest/decode/json_scalar.h"
#include "ingest/decode/json_tokens.h"

namespace tallyd {
namespace {

class JsonBody final : public BodyDecoder {
 public:
  Status Decode(std::string_view body, ShapeRegistry& shapes, EventBatch* batch) override {
    const Status status = Read(body, shapes, batch);
    tokens_.Shrink();
    reader_.Shrink();
    return status;
  }
  size_t bytes() const override { return tokens_.bytes() + reader_.bytes(); }

 private:
  Status Read(std::string_view body, ShapeRegistry& shapes, EventBatch* batch);
  bool ReadKnown(std::string_view body, ShapeRegistry& shapes, EventBatch* batch);
  bool ReadKnownEvents(std::string_view body, ShapeRegistry& shapes, EventBatch* batch);
  bool ReadBody();
  bool ReadArray();
  bool ReadEvents();
  bool ReadEnvelope(std::string_view body, ShapeRegistry& shapes, EventBatch* batch);
  bool ReadToTheEnd();

  JsonTokens tokens_;
  EventReader reader_;
};

class NdjsonBody final : public BodyDecoder {
 public:
  Status Decode(std::string_view body, ShapeRegistry& shapes, EventBatch* batch) override;
  size_t bytes() const override { return tokens_.bytes() + reader_.bytes(); }

 private:
  void DecodeLine(std::string_view line, size_t number, ShapeRegistry& shapes, EventBatch* batch);

  JsonTokens tokens_;
  EventReader reader_;
  bool tries_known_ = true;  // As in an array, up to the first event that is not known.
};

Status JsonBody::Read(std::string_view body, ShapeRegistry& shapes, EventBatch* batch) {
  reader_.AllowNames(MostNameBytes(body.size()));
  if (ReadKnown(body, shapes, batch)) return {};
  reader_.AllowNames(MostNameBytes(body.size()));
  SyntaxError error;
  switch (tokens_.Scan(body)) {
    case JsonTokens::Scanned::kEmpty:
      batch->Break(0,
                   "the body is empty; send an event, an array of events, or {\"events\": [...]}");
      return Invalid(batch->errors().kept().front().detail);
    case JsonTokens::Scanned::kMalformed:
      error = LocateMalformed(body);
      break;
    case JsonTokens::Scanned::kOk:
      reader_.Start(body, tokens_.offsets(), shapes, batch);
      if (reader_.OpensEnvelope() ? ReadEnvelope(body, shapes, batch) : ReadBody()) return {};
      error = reader_.error();
      break;
  }
  const size_t index = EventIndexAt(body, error.offset);
  batch->Break(index,
               fmt::format("not JSON at byte {} (event {}): {}", error.offset, index, error.what));
  return Invalid(batch->errors().kept().front().detail);
}

// What mostly comes as it did before needs no look for tokens. False: nothing was read.
bool JsonBody::ReadKnown(std::string_view body, ShapeRegistry& shapes, EventBatch* batch) {
  if (body.starts_with('[')) return ReadKnownEvents(body, shapes, batch);
  if (!body.starts_with('{')) return false;
  reader_.StartText(body, shapes, batch);
  return reader_.ReadKnown(body.data(), /*alone=*/true) != nullptr;
}

// An array, from its first event on; from the first that is not known, tokens are looked for. What
// is wrong there is told as of a body that was never read otherwise.
bool JsonBody::ReadKnownEvents(std::string_view body, ShapeRegistry& shapes, EventBatch* batch) {
  const char* const end = body.data() + body.size();
  const auto skip_space = [end](const char* at) { return std::find_if_not(at, end, IsJsonSpace); };
  reader_.StartText(body, shapes, batch);
  const char* at = skip_space(body.data() + 1);
  while (const char* next = reader_.ReadKnown(at)) {
    next = skip_space(next);
    const char behind = next != end ? *next : '\0';
    if (behind == ']' && skip_space(next + 1) == end) return true;
    if (behind != ',') {
      batch->Clear();
      return false;
    }
    at = skip_space(next + 1);
  }
  if (batch->size() == 0) return false;
  const std::string_view rest(at, static_cast<size_t>(end - at));
  if (tokens_.Scan(rest) == JsonTokens::Scanned::kOk) {
    reader_.Start(rest, tokens_.offsets(), shapes, batch);
    if (ReadEvents() && reader_.AtEnd()) return true;
  }
  batch->Clear();
  return false;
}

// {"events": [...]}, unless it turns out to be an event with a field of that name beside others.
bool JsonBody::ReadEnvelope(std::string_view body, ShapeRegistry& shapes, EventBatch* batch) {
  for (int i = 0; i < 3; ++i) reader_.Take();  // { "events" :
  if (!ReadArray()) return false;
  if (reader_.Peek() == ',') {
    batch->Clear();
    reader_.Start(body, tokens_.offsets(), shapes, batch);
    return ReadBody();
  }
  if (reader_.Peek() != '}') return reader_.Expected("'}'");
  reader_.Take();
  return ReadToTheEnd();
}

// An event or an array of events, and nothing behind it.
bool JsonBody::ReadBody() {
  switch (reader_.Peek()) {
    case '[':
      return ReadArray() && ReadToTheEnd();
    case '{':
      return reader_.ReadEvent() && ReadToTheEnd();
    default:
      return reader_.Expected("an event, an array of events, or {\"events\": [...]}");
  }
}

bool JsonBody::ReadToTheEnd() {
  if (reader_.AtEnd()) return true;
  return reader_.Expected(reader_.Peek() == '{'
                              ? "nothing behind the event (one event per line is NDJSON: send "
                                "Content-Type: application/x-ndjson)"
                              : "nothing behind the last event");
}

bool JsonBody::ReadArray() {
  reader_.Take();
  if (reader_.Peek() == ']') {
    reader_.Take();
    return true;
  }
  return ReadEvents();
}

// Up to the end of the array.
bool JsonBody::ReadEvents() {
  while (true) {
    if (!reader_.ReadEvent()) return false;
    const char c = reader_.Peek();
    if (c != ',' && c != ']') return reader_.Expected("',' or ']' behind an event");
    reader_.Take();
    if (c == ']') return true;
  }
}

Status NdjsonBody::Decode(std::string_view body, ShapeRegistry& shapes, EventBatch* batch) {
  reader_.AllowNames(MostNameBytes(body.size()));
  tries_known_ = true;
  for (size_t begin = 0, number = 1; begin < body.size(); ++number) {
    const size_t end = std::min(body.find('\n', begin), body.size());
    std::string_view line = body.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      DecodeLine(line, number, shapes, batch);
    }
  }
  tokens_.Shrink();
  reader_.Shrink();
  return {};
}

void NdjsonBody::DecodeLine(std::string_view line, size_t number, ShapeRegistry& shapes,
                            EventBatch* batch) {
  SyntaxError error;
  if (tries_known_) {
    reader_.StartText(line, shapes, batch);
    if (reader_.ReadKnown(line.data(), /*alone=*/true) != nullptr) return;
    tries_known_ = false;
  }
  batch->BeginEvent();
  if (tokens_.Scan(line) == JsonTokens::Scanned::kOk) {
    reader_.Start(line, tokens_.offsets(), shapes, batch);
    if (reader_.ReadEvent(/*alone=*/true)) return;
    error = reader_.error();
  } else {
    error = LocateMalformed(line);
  }
  batch->DropEvent(
      {{}, fmt::format("line {} is not JSON at byte {}: {}", number, error.offset, error.what)});
}

}  // namespace

std::unique_ptr<BodyDecoder> MakeJsonBody() { return std::make_unique<JsonBody>(); }

std::unique_ptr<BodyDecoder> MakeNdjsonBody() { return std::make_unique<NdjsonBody>(); }

}  // namespace tallyd
