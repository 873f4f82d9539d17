#include "ingest/decode/json_tokens.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "ingest/decode/event_batch.h"
#include "ingest/decode/json_scalar.h"

namespace tallyd {
namespace {

constexpr size_t kKeptCapacity = 1u << 20;

bool IsContinuation(unsigned char c) { return (c & 0xC0) == 0x80; }

// The length of the UTF-8 sequence at `i`, 0 if it is malformed (RFC 3629: no surrogates, no
// overlong forms, nothing beyond U+10FFFF).
size_t Utf8Length(std::string_view text, size_t i) {
  auto at = [&](size_t k) -> unsigned char {
    return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0;
  };
  const unsigned char c = at(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return IsContinuation(at(1)) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF) {
    if (!IsContinuation(at(1)) || !IsContinuation(at(2))) return 0;
    if ((c == 0xE0 && at(1) < 0xA0) || (c == 0xED && at(1) > 0x9F)) return 0;
    return 3;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    if (!IsContinuation(at(1)) || !IsContinuation(at(2)) || !IsContinuation(at(3))) return 0;
    if ((c == 0xF0 && at(1) < 0x90) || (c == 0xF4 && at(1) > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

// The depth at which a body's events lie: 1 in an array, 2 in {"events": [...]}, 0 for one event.
size_t DepthOfEvents(std::string_view body) {
  auto skip_space = [&](size_t i) { return body.find_first_not_of(" \t\r\n", i); };
  size_t i = skip_space(0);
  if (i == std::string_view::npos) return 0;
  if (body[i] == '[') return 1;
  constexpr std::string_view kName = "\"events\"";
  if (body[i] != '{' || (i = skip_space(i + 1)) == std::string_view::npos) return 0;
  if (!body.substr(i).starts_with(kName)) return 0;
  i = skip_space(i + kName.size());
  if (i == std::string_view::npos || body[i] != ':') return 0;
  i = skip_space(i + 1);
  return i != std::string_view::npos && body[i] == '[' ? 2 : 0;
}

}  // namespace

struct JsonTokens::Impl {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
};

JsonTokens::JsonTokens() : impl_(std::make_unique<Impl>()) {}
JsonTokens::~JsonTokens() = default;

JsonTokens::Scanned JsonTokens::Scan(std::string_view text) {
  offsets_ = {};
  if (!impl_->parser || impl_->parser->capacity() < text.size()) {
    const size_t capacity = std::max<size_t>(text.size() + text.size() / 4, 4096);
    if (simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, 1,
                                                                                impl_->parser)) {
      throw std::bad_alloc();
    }
  }
  const auto error = impl_->parser->stage1(reinterpret_cast<const uint8_t*>(text.data()),
                                           text.size(), simdjson::stage1_mode::regular);
  if (error == simdjson::EMPTY) return Scanned::kEmpty;
  if (error != simdjson::SUCCESS) return Scanned::kMalformed;
  offsets_ = {impl_->parser->structural_indexes.get(), impl_->parser->n_structural_indexes};
  return Scanned::kOk;
}

size_t JsonTokens::bytes() const {
  return impl_->parser ? impl_->parser->capacity() * sizeof(uint32_t) : 0;
}

void JsonTokens::Shrink() {
  if (impl_->parser && impl_->parser->capacity() > kKeptCapacity) {
    offsets_ = {};
    impl_->parser.reset();
  }
}

std::string_view JsonCursor::WordAt(size_t offset) const {
  size_t end = offset;
  while (end < text_.size() && !IsJsonDelimiter(text_[end]) && text_[end] != '[' &&
         text_[end] != '{' && text_[end] != '"') {
    ++end;
  }
  return text_.substr(offset, end - offset);
}

bool JsonCursor::Expected(std::string_view what) {
  if (AtEnd()) return Malformed(text_.size(), fmt::format("expected {}, found the end", what));
  const std::string_view word = WordAt(*next_);
  const std::string found =
      Peek() == '"' ? "a string"
                    : fmt::format("'{}'", Shown(word.empty() ? text_.substr(*next_, 1) : word));
  return Malformed(*next_, fmt::format("expected {}, found {}", what, found));
}

bool JsonCursor::Malformed(size_t offset, std::string what) {
  error_ = {offset, std::move(what)};
  return false;
}

bool JsonCursor::SkipValue() {
  nesting_.clear();
  while (true) {
    const char c = Peek();
    if (c == '{' || c == '[') {
      ++next_;
      const char close = c == '{' ? '}' : ']';
      if (Peek() != close) {
        nesting_.push_back(c == '{');
        if (c == '{' && !SkipName()) return false;
        continue;
      }
      ++next_;
    } else if (!SkipScalar()) {
      return false;
    }
    while (true) {  // Behind a value: what closes here, or the comma before the next one.
      if (nesting_.empty()) return true;
      const bool object = nesting_.back();
      const char after = Peek();
      if (after != ',' && after != (object ? '}' : ']')) {
        return Expected(object ? "',' or '}'" : "',' or ']'");
      }
      ++next_;
      if (after == ',') {
        if (object && !SkipName()) return false;
        break;
      }
      nesting_.pop_back();
    }
  }
}

bool JsonCursor::SkipName() {
  if (Peek() != '"') return Expected("a field's name in quotes");
  if (!SkipString()) return false;
  if (Peek() != ':') return Expected("':' after a field's name");
  ++next_;
  return true;
}

bool JsonCursor::SkipScalar() {
  if (AtEnd()) return Expected("a value");
  if (Peek() == '"') return SkipString();
  const std::string_view word = WordAt(*next_);
  if (word != "true" && word != "false" && word != "null") {
    Value value;
    if (ReadNumber(word, &value) == NumberFault::kMalformed) return Expected("a value");
  }
  ++next_;
  return true;
}

bool JsonCursor::SkipString() {
  const std::string_view raw = PeekString();
  size_t at = 0;
  if (raw.find('\\') != std::string_view::npos &&
      Unescape(raw, &scratch_, &at) == EscapeFault::kMalformed) {
    return Malformed(static_cast<size_t>(raw.data() - text_.data()) + at, "no such escape");
  }
  ++next_;
  return true;
}

SyntaxError LocateMalformed(std::string_view text) {
  bool in_string = false;
  size_t string_begin = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text, i);
    if (length == 0) {
      return {i, fmt::format("invalid UTF-8 (byte 0x{:02X})", static_cast<unsigned char>(text[i]))};
    }
    const char c = text[i];
    if (in_string && static_cast<unsigned char>(c) < 0x20) {
      return {i, fmt::format("a control character in a string must be written \\u{:04x}",
                             static_cast<unsigned char>(c))};
    }
    if (c == '"') {
      in_string = !in_string;
      string_begin = i;
    }
    // A quote behind a backslash does not close; outside strings a backslash hides a quote, too.
    i += c == '\\' && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0x80 &&
                 static_cast<unsigned char>(text[i + 1]) >= 0x20
             ? 2
             : length;
  }
  if (in_string) return {string_begin, "a string is not closed"};
  return {text.size(), "it is malformed"};
}

size_t EventIndexAt(std::string_view body, size_t offset) {
  const size_t depth_of_events = DepthOfEvents(body);
  if (depth_of_events == 0) return 0;
  size_t index = 0;
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < std::min(offset, body.size()); ++i) {
    const char c = body[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == ',' && depth == depth_of_events) ++index;
  }
  return index;
}

}  // namespace tallyd
