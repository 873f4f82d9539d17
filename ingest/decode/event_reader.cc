#include "ingest/decode/event_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "config/values/time.h"
#include "ingest/decode/body_decoder.h"
#include "ingest/decode/json_scalar.h"

namespace tallyd {
namespace {

std::string TooManyNames() {
  return fmt::format(
      "the names of all its fields, each with those of the objects around it, would take more "
      "than {} bytes and {} times the body, together with those before; shorten the names of "
      "objects",
      kFreeNameBytes, kNameBytesPerByte);
}

std::string_view KindName(char first) {
  switch (first) {
    case '[':
      return "an array";
    case '"':
      return "a string";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    default:
      return "a number";
  }
}

}  // namespace

void EventReader::Start(std::string_view text, std::span<const uint32_t> tokens,
                        ShapeRegistry& shapes, EventBatch* batch) {
  StartAt(text, tokens);
  shapes_ = &shapes;
  batch_ = batch;
  order_.Use(shapes.superset());
}

const char* EventReader::ReadKnown(const char* at, bool alone) {
  const char* const end = text_.data() + text_.size();
  if (!order_.MayFollowText()) return nullptr;
  batch_->BeginEvent();
  order_.Begin();
  size_t values = 0;  // When the object at hand, or one before it in it, began.
  while (order_.FollowText(&at, end)) {
    if (order_.kind() == FieldOrder::Kind::kEnd) {
      if (alone && std::find_if_not(at, end, IsJsonSpace) != end) break;
      batch_->EndEvent(order_.shape());
      return at;
    }
    if (order_.kind() != FieldOrder::Kind::kValue) {
      if (order_.kind() == FieldOrder::Kind::kObject) values = batch_->values_of_event();
      const bool is_empty = order_.kind() == FieldOrder::Kind::kClose &&
                            values == batch_->values_of_event();
      if (is_empty && MayBeTime()) break;
      continue;
    }
    at = ReadPlainScalar(at, end, batch_->NewValue());
    if (at == nullptr) break;
  }
  batch_->ForgetEvent();
  return nullptr;
}

bool EventReader::ReadEvent(bool alone) {
  refused_ = false;
  batch_->BeginEvent();
  order_.Begin();
  if (Peek() == '{') {
    behind_ = *next_++;
    if (!ReadObject(1, nullptr)) return false;
  } else {
    if (!AtEnd()) Refuse({}, fmt::format("it is {}; an event is an object", KindName(Peek())));
    if (!SkipValue()) return false;
  }
  if (alone && !AtEnd()) return Expected("nothing behind the event");
  if (!refused_) {
    std::unique_ptr<const Shape> owned;
    const Shape* shape = order_.End(*shapes_, &owned);
    if (shape != nullptr) {
      NoteLead(FieldOrder::Kind::kEnd, next_[-1] + 1);
      batch_->EndEvent(shape, order_.places());
      return true;
    }
    if (owned) {
      batch_->EndEvent(std::move(owned));
      return true;
    }
    Refuse({}, order_.has_too_many_names() ? TooManyNames() : "it has no fields");
  }
  batch_->DropEvent(refusal_);
  return true;
}

// Behind '{'.
bool EventReader::ReadObject(size_t depth, const Way* way) {
  const size_t values = batch_->values_of_event();
  if (Peek() == '}') {
    ++next_;
  } else {
    while (true) {
      if (!ReadMember(depth, way)) return false;
      const char c = Peek();
      if (c != ',' && c != '}') return Expected("',' or '}'");
      ++next_;
      if (c == '}') break;
    }
  }
  if (depth > 1 && !refused_ && values == batch_->values_of_event()) RefuseEmptyTime(*way);
  if (depth > 1 && !refused_) {
    order_.Close();
    const size_t end = next_[-1] + 1;
    NoteLead(FieldOrder::Kind::kClose, end);
    behind_ = end;
  }
  return true;
}

bool EventReader::ReadMember(size_t depth, const Way* way) {
  if (Peek() != '"') return Expected("a field's name in quotes");
  const std::string_view raw = PeekString();
  ++next_;
  if (Peek() != ':') return Expected("':' after a field's name");
  ++next_;
  if (AtEnd()) return Expected("a value");
  const FieldOrder::Kind kind = KindOfNext();
  if (kind == FieldOrder::Kind::kObject && depth == kMaxDepth) {
    RefuseField(raw, fmt::format("nested deeper than {} levels", kMaxDepth));
  }
  const FieldOrder::Step step =
      refused_ ? FieldOrder::Step::kEscaped : order_.Member(raw, /*raw=*/true, kind);
  if (step != FieldOrder::Step::kOk && !ReadOtherName(raw, kind, step)) return false;
  if (refused_) return SkipValue();
  const size_t value = *next_;
  if (kind == FieldOrder::Kind::kObject) {
    NoteLead(kind, value + 1);
    behind_ = value + 1;
    ++next_;
    const Way inner{way, raw};
    return ReadObject(depth + 1, &inner);
  }
  if (kind == FieldOrder::Kind::kNull) {
    if (!ReadWord("null")) return false;
    NoteLead(kind, value + 4);
    behind_ = value + 4;
    return true;
  }
  NoteLead(kind, value);
  return ReadScalar(raw);
}

FieldOrder::Kind EventReader::KindOfNext() const {
  const char c = Peek();
  if (c == '{') return FieldOrder::Kind::kObject;
  if (c == 'n') return FieldOrder::Kind::kNull;
  return FieldOrder::Kind::kValue;
}

// A name that is not simply the next one. False only if it is no JSON string.
bool EventReader::ReadOtherName(std::string_view raw, FieldOrder::Kind kind,
                                FieldOrder::Step step) {
  std::string_view name = raw;
  if (step == FieldOrder::Step::kEscaped) {
    size_t at = 0;
    const EscapeFault fault = Unescape(raw, &scratch_, &at);
    if (fault == EscapeFault::kMalformed) {
      return Malformed(static_cast<size_t>(raw.data() - text_.data()) + at, "no such escape");
    }
    if (refused_) return true;
    if (fault == EscapeFault::kLoneSurrogate) {
      Refuse({}, "a field's name holds half of a surrogate pair, which is no character");
      return true;
    }
    name = scratch_;
    step = order_.Member(name, /*raw=*/false, kind);
  }
  if (step != FieldOrder::Step::kOk) RefuseMember(step, name);
  return true;
}

bool EventReader::MayBeTime() const {
  const std::string_view name = order_.ClosedName();
  return std::ranges::any_of(shapes_->time_fields(), [&](std::string_view field) {
    return field == name || (field.ends_with(name) && field[field.size() - name.size() - 1] == '/');
  });
}

void EventReader::RefuseEmptyTime(const Way& way) {
  const ShapeRegistry::TimeFields& fields = shapes_->time_fields();
  if (fields.empty()) return;
  std::string path;
  for (const Way* at = &way; at != nullptr; at = at->outer) {
    std::string name(at->raw_name);
    size_t ignored = 0;
    if (name.find('\\') != std::string::npos &&
        Unescape(at->raw_name, &name, &ignored) != EscapeFault::kNone) {
      return;
    }
    path = at == &way ? std::move(name) : name.append("/").append(path);
  }
  if (std::ranges::count(fields, path) == 0) return;
  refused_ = true;
  refusal_ = {Shown(path), fmt::format("field \"{}\": {}", Shown(path), NotATime("an object"))};
}

void EventReader::RefuseMember(FieldOrder::Step step, std::string_view name) {
  switch (step) {
    case FieldOrder::Step::kDuplicate:
      return Refuse(name, "stands twice in the event");
    case FieldOrder::Step::kEmptyName:
      return Refuse({}, "a field's name is empty");
    case FieldOrder::Step::kTooLong:
      return Refuse(name, fmt::format("its name is longer than {} bytes", kMaxFieldNameBytes));
    case FieldOrder::Step::kTooManyNames:
      return Refuse({}, TooManyNames());
    case FieldOrder::Step::kOk:
    case FieldOrder::Step::kEscaped:
      break;
  }
}

bool EventReader::ReadScalar(std::string_view raw_name) {
  const char c = Peek();
  switch (c) {
    case '"':
      return ReadString(raw_name);
    case 't':
      batch_->AddValue(Value::Bool(true));
      behind_ = *next_ + 4;
      return ReadWord("true");
    case 'f':
      batch_->AddValue(Value::Bool(false));
      behind_ = *next_ + 5;
      return ReadWord("false");
    case '[':
      RefuseField(raw_name, "arrays are not stored; send one field per element");
      return SkipValue();
    default:
      break;
  }
  size_t end = next_[1];
  while (IsJsonSpace(text_[end - 1])) --end;
  behind_ = end;
  Value* const value = batch_->NewValue();
  if (ReadShortNumber(text_.data() + *next_, value) == text_.data() + end) [[likely]] {
    ++next_;
    return true;
  }
  return ReadLongNumber(raw_name, value);
}

bool EventReader::ReadString(std::string_view raw_name) {
  const std::string_view raw = PeekString();
  behind_ = *next_ + raw.size() + 2;
  ++next_;
  if (raw.find('\\') == std::string_view::npos) [[likely]] {
    batch_->AddValue(Value::String(raw));
    return true;
  }
  size_t at = 0;
  const EscapeFault fault = Unescape(raw, &scratch_, &at);
  if (fault == EscapeFault::kMalformed) {
    return Malformed(static_cast<size_t>(raw.data() - text_.data()) + at, "no such escape");
  }
  if (fault == EscapeFault::kLoneSurrogate) {
    RefuseField(raw_name, "its text holds half of a surrogate pair, which is no character");
    return true;
  }
  batch_->AddValue(Value::String(batch_->Copy(scratch_)));
  return true;
}

bool EventReader::ReadLongNumber(std::string_view raw_name, Value* value) {
  const std::string_view token = WordAt(*next_);
  switch (ReadNumber(token, value)) {
    case NumberFault::kNone:
      if (value->type() == ValueType::kFloat64 && !value->is_decimal()) batch_->NoteDigits(token);
      break;
    case NumberFault::kMalformed:
      return Expected("a value");
    case NumberFault::kIntegerTooBig:
      RefuseField(raw_name, fmt::format("integer {} does not fit into 64 bits", Shown(token)));
      break;
    case NumberFault::kFloatTooBig:
      RefuseField(raw_name, fmt::format("number {} is beyond the range of float64", Shown(token)));
      break;
  }
  ++next_;
  return true;
}

bool EventReader::ReadWord(std::string_view word) {
  if (WordAt(*next_) != word) return Expected("a value");
  ++next_;
  return true;
}

bool EventReader::OpensEnvelope() const {
  constexpr std::string_view kOpening = "{\":[";
  if (static_cast<size_t>(end_ - next_) < kOpening.size()) return false;
  for (size_t i = 0; i < kOpening.size(); ++i) {
    if (text_[next_[i]] != kOpening[i]) return false;
  }
  return StringAt(next_ + 1) == "events";
}

void EventReader::Refuse(std::string_view name, std::string reason) {
  if (refused_) return;
  refused_ = true;
  refusal_ = {{}, std::move(reason)};
  if (name.empty()) return;
  refusal_.field = Shown(order_.PathOf(name));
  refusal_.detail = fmt::format("field \"{}\": {}", refusal_.field, refusal_.detail);
}

void EventReader::RefuseField(std::string_view raw_name, std::string reason) {
  std::string name(raw_name);
  size_t at = 0;
  if (raw_name.find('\\') != std::string_view::npos &&
      Unescape(raw_name, &name, &at) != EscapeFault::kNone) {
    name = raw_name;
  }
  Refuse(name, std::move(reason));
}

}  // namespace tallyd
