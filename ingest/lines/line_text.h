// The pieces of InfluxDB's line protocol: plain texts and scalars as they mostly come, and all
// others; times; where a line ends. Pure functions of bytes.
//
//   cpu,host=a,core=0 user=1.5,idle=98i,note="all \"well\"" 1434055562000000000
//
// A comma, a space or an equals sign is a part of a name or of a tag's value behind a backslash,
// which otherwise is itself. Within quotes a backslash stands before a quote or a backslash.
#ifndef TALLYD_INGEST_LINES_LINE_TEXT_H_
#define TALLYD_INGEST_LINES_LINE_TEXT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/time.h"
#include "config/values/value.h"
#include "ingest/decode/json_scalar.h"

namespace tallyd {

// What a line's time counts. kAuto: by its size, the unit in which it is a time of this age.
enum class LinePrecision : uint8_t {
  kNanoseconds,
  kMicroseconds,
  kMilliseconds,
  kSeconds,
  kMinutes,
  kHours,
  kAuto,
};

// The time, cut to a microsecond; nothing where it is before 1970 or beyond what is stored.
std::optional<TimeUs> LineTimeUs(int64_t time, LinePrecision precision);

// The comma or the space that ends the name or the tag's value which begins there; null: what comes
// first is an escape, an equals sign, a control character, or not ASCII. Reads whole words, up to 7
// bytes behind `end`.
inline const char* PlainLineTextEnd(const char* at, const char* end) {
  using json_internal::kEach;
  for (; at < end; at += sizeof(uint64_t)) {
    const uint64_t word = json_internal::Load(at);
    const auto zeros = [](uint64_t bytes) { return (bytes - kEach) & ~bytes; };
    // The lowest bit of each is true; those above a true one need not be. A space is no control.
    const uint64_t controls = (word - kEach * 0x20) & ~word;
    const uint64_t stops = (zeros(word ^ kEach * ',') | zeros(word ^ kEach * ' ') |
                            zeros(word ^ kEach * '\\') | zeros(word ^ kEach * '=') | controls |
                            word) &
                           kEach * 0x80;
    if (stops == 0) continue;
    at += std::countr_zero(stops) / 8;
    return *at == ',' || *at == ' ' ? at : nullptr;
  }
  return nullptr;
}

// "true", "T", ..., "FALSE": how many bytes it takes there; 0: it is none.
size_t ReadLineBool(const char* at, bool* yes);

// Reads the common values of fields: numbers as ReadShortNumber does (a float without `i` or `u`),
// strings of ASCII without escapes, booleans. The place behind it, null where it is none of these;
// what follows is for the caller to look at. REQUIRES: 32 readable bytes behind `end`.
inline const char* ReadPlainLineScalar(const char* at, const char* end, Value* value) {
  if (*at <= '9' && *at >= '-') {
    const char* const behind = ReadShortNumber(at, value);
    if (behind == nullptr) return nullptr;
    if (value->type() != ValueType::kInt64) return behind;
    if (*behind == 'i') return behind + 1;
    if (*behind == 'u') return *at == '-' ? nullptr : behind + 1;
    const int64_t whole = value->AsInt();
    const bool is_negative_zero = whole == 0 && *at == '-';
    if (is_negative_zero || whole > Value::kMaxMantissa || whole < -Value::kMaxMantissa) {
      return nullptr;
    }
    *value = Value::Decimal(whole, 0);
    return behind;
  }
  if (*at == '"') {
    const char* const close = json_internal::PlainTextEnd(at + 1, end);
    if (close == nullptr) return nullptr;
    *value = Value::String({at + 1, static_cast<size_t>(close - at) - 1});
    return close + 1;
  }
  bool yes = false;
  const size_t size = ReadLineBool(at, &yes);
  if (size == 0) return nullptr;
  *value = Value::Bool(yes);
  return at + size;
}

// Reads up to 19 digits. The place behind them; null: there are none, or more, or the number is
// beyond int64. Reads 17 bytes.
inline const char* ReadLineDigits(const char* at, int64_t* number) {
  using namespace json_internal;
  constexpr size_t kMostDigits = 19;
  const uint64_t first = Load(at) ^ kEach * '0';
  const uint64_t second = Load(at + 8) ^ kEach * '0';
  uint64_t all = 0;
  size_t digits = 0;
  if ((OtherThanDigits(first) | OtherThanDigits(second)) == 0) {
    all = ToNumber(first) * 100'000'000 + ToNumber(second);
    digits = 16;
  }
  for (; IsDigit(at[digits]); ++digits) {
    if (digits == kMostDigits) return nullptr;
    all = all * 10 + static_cast<uint64_t>(at[digits] - '0');
  }
  if (digits == 0 || all > static_cast<uint64_t>(INT64_MAX)) return nullptr;
  *number = static_cast<int64_t>(all);
  return at + digits;
}

enum class LineFault : uint8_t {
  kNone,
  kNoNumber,         // Nor a boolean.
  kIntegerTooBig,    // Beyond int64.
  kUnsignedTooBig,   // The same of one with `u`, which int64 has no room for.
  kFloatTooBig,      // Beyond the finite doubles.
};
// The value of a field that stands in no quotes, whatever its spelling.
LineFault ReadLineValue(std::string_view token, Value* value);

// Where the line that begins at `at` ends: its newline, or the text's end. A newline within the
// quotes of a field's value is a part of it.
size_t FindLineEnd(std::string_view text, size_t at);

// Whether the byte at `at` has a backslash before it. `begin`: of the name.
inline bool IsLineEscaped(std::string_view text, size_t begin, size_t at) {
  return at > begin && text[at - 1] == '\\';
}

// Replaces *out by what stands behind a name's escapes. `escaped`: the bytes that may be.
void UnescapeLineName(std::string_view raw, std::string_view escaped, std::string* out);
// The same of what stands between quotes.
void UnescapeLineString(std::string_view raw, std::string* out);

}  // namespace tallyd

#endif  // TALLYD_INGEST_LINES_LINE_TEXT_H_
