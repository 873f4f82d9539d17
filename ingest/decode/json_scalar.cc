#include "ingest/decode/json_scalar.h"

#include <optional>

namespace tallyd {
namespace {

bool IsNumber(std::string_view token, bool* integer) {
  size_t i = 0;
  auto digits = [&] {
    const size_t begin = i;
    while (i < token.size() && token[i] >= '0' && token[i] <= '9') ++i;
    return i - begin;
  };
  auto at = [&](char c) { return i < token.size() && token[i] == c; };
  *integer = true;
  if (at('-')) ++i;
  const bool zero = at('0');
  const size_t integral = digits();
  if (integral == 0 || (zero && integral > 1)) return false;
  if (at('.')) {
    *integer = false;
    ++i;
    if (digits() == 0) return false;
  }
  if (at('e') || at('E')) {
    *integer = false;
    ++i;
    if (at('+') || at('-')) ++i;
    if (digits() == 0) return false;
  }
  return i == token.size();
}

// The four hexadecimal digits at `i`.
std::optional<uint32_t> ReadHex4(std::string_view raw, size_t i) {
  if (raw.size() < i + 4) return std::nullopt;
  uint32_t code = 0;
  for (char c : raw.substr(i, 4)) {
    uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint32_t>(c - 'A' + 10);
    } else {
      return std::nullopt;
    }
    code = code << 4 | digit;
  }
  return code;
}

void AppendUtf8(uint32_t code, std::string* out) {
  auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// `*i` is at the 'u' of \uXXXX; moves behind the character.
EscapeFault ReadUnicode(std::string_view raw, size_t* i, std::string* out) {
  const auto code = ReadHex4(raw, *i + 1);
  if (!code) return EscapeFault::kMalformed;
  *i += 5;
  if (*code < 0xD800 || *code > 0xDFFF) {
    AppendUtf8(*code, out);
    return EscapeFault::kNone;
  }
  if (*code > 0xDBFF || !raw.substr(*i).starts_with("\\u")) return EscapeFault::kLoneSurrogate;
  const auto low = ReadHex4(raw, *i + 2);
  if (!low) return EscapeFault::kMalformed;
  if (*low < 0xDC00 || *low > 0xDFFF) return EscapeFault::kLoneSurrogate;
  *i += 6;
  AppendUtf8(0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00), out);
  return EscapeFault::kNone;
}

}  // namespace

NumberFault ReadNumber(std::string_view token, Value* value) {
  if (auto parsed = ParseNumber(token)) {
    *value = *parsed;
    return NumberFault::kNone;
  }
  bool integer = false;
  if (!IsNumber(token, &integer)) return NumberFault::kMalformed;
  return integer ? NumberFault::kIntegerTooBig : NumberFault::kFloatTooBig;
}

EscapeFault Unescape(std::string_view raw, std::string* out, size_t* at) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
  out->clear();
  EscapeFault first_lone = EscapeFault::kNone;  // A malformed escape further on is worse.
  for (size_t i = 0; i < raw.size();) {
    const size_t escape = std::min(raw.find('\\', i), raw.size());
    out->append(raw.substr(i, escape - i));
    i = escape;
    if (i == raw.size()) break;
    if (first_lone == EscapeFault::kNone) *at = i;
    const size_t begin = i++;
    const size_t letter = i < raw.size() ? kLetters.find(raw[i]) : std::string_view::npos;
    if (letter != std::string_view::npos) {
      out->push_back(kMeaning[letter]);
      ++i;
      continue;
    }
    const EscapeFault fault =
        i < raw.size() && raw[i] == 'u' ? ReadUnicode(raw, &i, out) : EscapeFault::kMalformed;
    if (fault == EscapeFault::kMalformed) {
      *at = begin;
      return fault;
    }
    if (fault == EscapeFault::kLoneSurrogate) first_lone = fault;
  }
  return first_lone;
}

}  // namespace tallyd
