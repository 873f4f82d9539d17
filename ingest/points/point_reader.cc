#include "ingest/points/point_reader.h"

#include <fmt/format.h>

#include <utility>

#include "ingest/decode/json_scalar.h"
#include "ingest/points/point_text.h"

namespace tallyd {
namespace {

constexpr std::string_view kNotANumber = "Unable to parse value to a number";
constexpr std::string_view kHalfCharacter =
    "a text holds half of a surrogate pair, which is no character";

constexpr std::string_view kMembers[] = {"metric", "timestamp", "value", "tags"};

}  // namespace

Status PointReader::Read(std::string_view body, DataPoints* points) {
  points_ = points;
  const JsonTokens::Scanned scanned = tokens_.Scan(body);
  SyntaxError wrong;
  if (scanned == JsonTokens::Scanned::kOk) {
    StartAt(body, tokens_.offsets());
    if (ReadBody()) {
      tokens_.Shrink();
      return {};
    }
    wrong = error();
  } else if (scanned == JsonTokens::Scanned::kEmpty) {
    wrong = {0, "it is empty"};
  } else {
    wrong = LocateMalformed(body);
  }
  tokens_.Shrink();
  return Invalid(fmt::format("at byte {}: {}", wrong.offset, wrong.what));
}

bool PointReader::ReadBody() {
  const char first = Peek();
  if (first == '{') {
    if (!ReadPoint()) return false;
  } else if (first == '[') {
    Take();
    if (Peek() == ']') {
      Take();
    } else {
      while (true) {
        if (!ReadPoint()) return false;
        const char c = Peek();
        if (c != ',' && c != ']') return Expected("',' or ']' behind a data point");
        Take();
        if (c == ']') break;
      }
    }
  } else {
    return Expected("a data point, an object, or an array of them");
  }
  return AtEnd() || Expected("nothing behind the last data point");
}

bool PointReader::ReadPoint() {
  if (Peek() != '{') return Expected("a data point, an object");
  const size_t begin = *next_++;
  draft_ = Draft();
  if (Peek() == '}') {
    Take();
  } else {
    while (true) {
      if (!ReadMember()) return false;
      const char c = Peek();
      if (c != ',' && c != '}') return Expected("',' or '}'");
      Take();
      if (c == '}') break;
    }
  }
  TakePoint(text_.substr(begin, next_[-1] + 1 - begin));
  return true;
}

// In the order in which OpenTSDB looks at them.
void PointReader::TakePoint(std::string_view source) {
  std::string why;
  if (draft_.metric.empty() && draft_.fault.empty()) {
    why = "Metric name was empty";
  } else if (draft_.time_part != Part::kGood) {
    why = "Invalid timestamp";
  } else if (draft_.value_part == Part::kMissing) {
    why = "Empty value";
  } else if (draft_.tags_part == Part::kMissing) {
    why = "Missing tags";
  } else if (draft_.value_part == Part::kBad) {
    why = kNotANumber;
  } else if (!draft_.fault.empty()) {
    why = std::move(draft_.fault);
  } else if (points_->Add(draft_.metric, draft_.time, draft_.value, draft_.tags, source, &why)) {
    return;
  }
  points_->Refuse(source, std::move(why));
}

bool PointReader::ReadMember() {
  if (Peek() != '"') return Expected("a member's name in quotes");
  std::string_view name = PeekString();
  if (name.find('\\') != std::string_view::npos) {
    size_t at = 0;
    if (Unescape(name, &scratch_, &at) == EscapeFault::kMalformed) return SkipString();
    name = scratch_;
  }
  unsigned member = 0;
  while (member < std::size(kMembers) && kMembers[member] != name) ++member;
  Take();
  if (Peek() != ':') return Expected("':' behind a member's name");
  Take();
  if (member == std::size(kMembers)) return SkipValue();
  if (std::exchange(draft_.given, draft_.given | 1u << member) & 1u << member) {
    Fault(fmt::format("\"{}\" is given twice", kMembers[member]));
    return SkipValue();
  }
  switch (member) {
    case 0:
      return ReadMetric();
    case 1:
      return ReadTime();
    case 2:
      return ReadValue();
    default:
      return ReadTags();
  }
}

bool PointReader::TakeText(std::optional<std::string_view>* text) {
  const std::string_view raw = PeekString();
  if (raw.find('\\') == std::string_view::npos) {
    Take();
    *text = raw;
    return true;
  }
  size_t at = 0;
  switch (Unescape(raw, &scratch_, &at)) {
    case EscapeFault::kMalformed:
      return Malformed(static_cast<size_t>(raw.data() - text_.data()) + at, "no such escape");
    case EscapeFault::kLoneSurrogate:
      Fault(std::string(kHalfCharacter));
      text->reset();
      break;
    case EscapeFault::kNone:
      *text = points_->Copy(scratch_);
      break;
  }
  Take();
  return true;
}

bool PointReader::ReadMetric() {
  if (Peek() != '"') {
    if (Peek() != 'n') Fault("the metric's name is no text");
    return SkipValue();
  }
  std::optional<std::string_view> text;
  if (!TakeText(&text)) return false;
  draft_.metric = text.value_or(std::string_view());
  return true;
}

bool PointReader::ReadTime() {
  draft_.time_part = Part::kBad;
  std::optional<TimeUs> time;
  if (Peek() == '"') {
    std::optional<std::string_view> text;
    if (!TakeText(&text)) return false;
    // Digits: what has a fraction is one of the telnet lines' times.
    if (text && text->find('.') == std::string_view::npos) time = ParsePointTime(*text);
  } else {
    Value number;
    const bool is_number = !AtEnd() && ReadNumber(WordAt(*next_), &number) == NumberFault::kNone;
    if (is_number && number.type() == ValueType::kInt64) time = PointTime(number.AsInt());
    if (!SkipValue()) return false;
  }
  if (!time) return true;
  draft_.time_part = Part::kGood;
  draft_.time = *time;
  return true;
}

bool PointReader::ReadValue() {
  if (Peek() == 'n') return SkipValue();  // Null: it is missing.
  draft_.value_part = Part::kBad;
  std::optional<Value> value;
  if (Peek() == '"') {
    std::optional<std::string_view> text;
    if (!TakeText(&text)) return false;
    if (text && text->empty()) draft_.value_part = Part::kMissing;
    if (text) value = ParsePointValue(*text);
  } else {
    Value number;
    const bool is_number = !AtEnd() && ReadNumber(WordAt(*next_), &number) == NumberFault::kNone;
    if (is_number) value = number;
    if (!SkipValue()) return false;
  }
  if (!value) return true;
  draft_.value_part = Part::kGood;
  draft_.value = *value;
  return true;
}

// Agents repeat the tags of a host with each of its metrics.
std::string_view PointReader::SpelledTags() const {
  const uint32_t* at = next_ + 1;
  const std::string_view kNesting = "{[";
  while (at < end_ && text_[*at] != '}' && kNesting.find(text_[*at]) == kNesting.npos) ++at;
  if (at == end_ || text_[*at] != '}') return {};
  return text_.substr(*next_, *at + 1 - *next_);
}

bool PointReader::ReadTags() {
  if (Peek() != '{') return SkipValue();  // They are missing.
  const std::string_view spelled = SpelledTags();
  if (const auto known = points_->FindTags(spelled)) {
    const size_t close = *next_ + spelled.size() - 1;
    while (*next_ != close) ++next_;
    Take();
    draft_.tags = *known;
    draft_.tags_part = Part::kGood;
    return true;
  }
  points_->BeginTags();
  Take();
  if (Peek() == '}') {
    Take();
    return true;
  }
  while (true) {
    if (!ReadTag()) return false;
    const char c = Peek();
    if (c != ',' && c != '}') return Expected("',' or '}'");
    Take();
    if (c == '}') break;
  }
  draft_.tags_part = Part::kBad;
  if (!draft_.fault.empty()) return true;
  std::string why;
  const std::optional<uint32_t> tags = points_->EndTags(spelled, &why);
  if (!tags) {
    Fault(std::move(why));
    return true;
  }
  draft_.tags = *tags;
  draft_.tags_part = Part::kGood;
  return true;
}

bool PointReader::ReadTag() {
  if (Peek() != '"') return Expected("a tag's name in quotes");
  std::optional<std::string_view> name;
  if (!TakeText(&name)) return false;
  if (Peek() != ':') return Expected("':' behind a tag's name");
  Take();
  if (AtEnd()) return Expected("a tag's value");
  const char first = Peek();
  std::optional<std::string_view> value;
  if (first == '"') {
    if (!TakeText(&value)) return false;
  } else if (first == '{' || first == '[' || first == 'n') {
    Fault(fmt::format("tag \"{}\" has no text as its value", Shown(name.value_or(""))));
    return SkipValue();
  } else {
    value = WordAt(*next_);
    if (!SkipScalar()) return false;
  }
  if (name && value) points_->AddTag(*name, *value);
  return true;
}

}  // namespace tallyd
