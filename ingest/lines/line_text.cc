#include "ingest/lines/line_text.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

namespace tallyd {
namespace {

struct BoolWord {
  std::string_view word;
  bool yes;
};
// The longer ones of one beginning come first.
constexpr BoolWord kBoolWords[] = {
    {"true", true},   {"True", true},   {"TRUE", true},   {"t", true},  {"T", true},
    {"false", false}, {"False", false}, {"FALSE", false}, {"f", false}, {"F", false},
};

// Where a time of that many stops being one of these units: the year 2128, or thereabouts.
constexpr int64_t kMostSeconds = 5'000'000'000;
constexpr int64_t kMostMilliseconds = kMostSeconds * 1000;
constexpr int64_t kMostMicroseconds = kMostMilliseconds * 1000;

constexpr int64_t kUsPerMinute = 60 * kUsPerSecond;
constexpr int64_t kUsPerHour = 60 * kUsPerMinute;

LinePrecision PrecisionOf(int64_t time) {
  if (time < kMostSeconds) return LinePrecision::kSeconds;
  if (time < kMostMilliseconds) return LinePrecision::kMilliseconds;
  if (time < kMostMicroseconds) return LinePrecision::kMicroseconds;
  return LinePrecision::kNanoseconds;
}

int64_t MicrosecondsIn(LinePrecision precision) {
  switch (precision) {
    case LinePrecision::kMilliseconds:
      return kUsPerMs;
    case LinePrecision::kSeconds:
      return kUsPerSecond;
    case LinePrecision::kMinutes:
      return kUsPerMinute;
    case LinePrecision::kHours:
      return kUsPerHour;
    case LinePrecision::kNanoseconds:
    case LinePrecision::kMicroseconds:
    case LinePrecision::kAuto:
      break;
  }
  return 1;
}

size_t CountDigits(std::string_view text) {
  return static_cast<size_t>(std::ranges::find_if_not(text, IsDigit) - text.begin());
}

// [+-]DIGITS[.DIGITS][e[+-]DIGITS], with a digit before or behind the point.
bool IsLineNumber(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  size_t digits = CountDigits(text);
  text.remove_prefix(digits);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const size_t fraction = CountDigits(text);
    text.remove_prefix(fraction);
    digits += fraction;
  }
  if (digits == 0) return false;
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && CountDigits(text) == text.size();
}

// `token` without its letter.
LineFault ReadWhole(std::string_view token, bool is_signed, Value* value) {
  const LineFault too_big = is_signed ? LineFault::kIntegerTooBig : LineFault::kUnsignedTooBig;
  const bool is_negative = is_signed && token.starts_with('-');
  const std::string_view digits = token.substr(is_negative ? 1 : 0);
  if (digits.empty() || CountDigits(digits) != digits.size()) return LineFault::kNoNumber;
  int64_t whole = 0;
  const auto [rest, wrong] =
      std::from_chars(token.data(), token.data() + token.size(), whole);
  if (wrong != std::errc()) return too_big;
  *value = Value::Int(whole);
  return LineFault::kNone;
}

// Of a number that is spelled as an integer, in the form that ReadPlainLineScalar gives it.
Value FloatOf(int64_t whole, std::string_view token) {
  if (whole == 0 && token.starts_with('-')) return Value::Double(-0.0);
  const bool is_decimal = whole >= -Value::kMaxMantissa && whole <= Value::kMaxMantissa;
  return is_decimal ? Value::Decimal(whole, 0) : Value::Double(static_cast<double>(whole));
}

LineFault ReadFloat(std::string_view token, Value* value) {
  if (!IsLineNumber(token)) return LineFault::kNoNumber;
  if (token.starts_with('+')) token.remove_prefix(1);
  if (const std::optional<Value> plain = ParseNumber(token)) {
    *value = plain->type() == ValueType::kInt64 ? FloatOf(plain->AsInt(), token) : *plain;
    return LineFault::kNone;
  }
  double number = 0;
  const auto [rest, wrong] =
      std::from_chars(token.data(), token.data() + token.size(), number);
  if (wrong == std::errc::result_out_of_range) {
    // What is nearer to zero than any double is zero; what is beyond them is none.
    const size_t exponent = token.find_first_of("eE");
    if (exponent == token.npos || token[exponent + 1] != '-') return LineFault::kFloatTooBig;
    number = 0;
  }
  *value = Value::Double(number);
  return LineFault::kNone;
}

}  // namespace

std::optional<TimeUs> LineTimeUs(int64_t time, LinePrecision precision) {
  if (time < 0) return std::nullopt;
  if (precision == LinePrecision::kAuto) precision = PrecisionOf(time);
  if (precision == LinePrecision::kNanoseconds) {
    time /= 1000;
    return time > kMaxTimeUs ? std::nullopt : std::optional(time);
  }
  const int64_t unit = MicrosecondsIn(precision);
  return time > kMaxTimeUs / unit ? std::nullopt : std::optional(time * unit);
}

size_t ReadLineBool(const char* at, bool* yes) {
  constexpr size_t kLongest = 5;
  if (*at != 't' && *at != 'T' && *at != 'f' && *at != 'F') return 0;
  const std::string_view text(at, kLongest);
  for (const BoolWord& word : kBoolWords) {
    if (!text.starts_with(word.word)) continue;
    *yes = word.yes;
    return word.word.size();
  }
  return 0;
}

LineFault ReadLineValue(std::string_view token, Value* value) {
  const auto* const word = std::ranges::find(kBoolWords, token, &BoolWord::word);
  if (word != std::end(kBoolWords)) {
    *value = Value::Bool(word->yes);
    return LineFault::kNone;
  }
  const char last = token.empty() ? '\0' : token.back();
  if (last == 'i' || last == 'u') {
    return ReadWhole(token.substr(0, token.size() - 1), last == 'i', value);
  }
  return ReadFloat(token, value);
}

size_t FindLineEnd(std::string_view text, size_t at) {
  const size_t begin = at;
  // Quotes mean something in fields alone, which stand behind the first space.
  while (at < text.size() && text[at] != '\n' &&
         (text[at] != ' ' || IsLineEscaped(text, begin, at))) {
    ++at;
  }
  while (at < text.size() && text[at] != '\n') {
    const bool opens = text[at] == '"' && text[at - 1] == '=' && text[at - 2] != '\\';
    ++at;
    if (!opens) continue;
    while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
    at = std::min(at + 1, text.size());
  }
  return at;
}

void UnescapeLineName(std::string_view raw, std::string_view escaped, std::string* out) {
  out->clear();
  for (size_t i = 0; i < raw.size(); ++i) {
    const bool is_escape =
        raw[i] == '\\' && i + 1 < raw.size() && escaped.find(raw[i + 1]) != escaped.npos;
    if (is_escape) ++i;
    out->push_back(raw[i]);
  }
}

void UnescapeLineString(std::string_view raw, std::string* out) {
  UnescapeLineName(raw, "\"\\", out);
}

}  // namespace tallyd
