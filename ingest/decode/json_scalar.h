// JSON's scalars: numbers, the escapes of strings. Pure functions of bytes.
#ifndef TALLYD_INGEST_DECODE_JSON_SCALAR_H_
#define TALLYD_INGEST_DECODE_JSON_SCALAR_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "config/values/digits.h"
#include "config/values/value.h"

namespace tallyd {

inline bool IsJsonSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Whether `c` may follow a number or a word.
inline bool IsJsonDelimiter(char c) {
  return c == ',' || c == '}' || c == ']' || c == ':' || IsJsonSpace(c);
}

// The common numbers, straight from their digits: integers of up to 16 digits, decimals of up to 8
// characters. Without a loop, whose length no branch predictor would know. The place behind it,
// null if it is none of these, which ReadNumber may read; what follows is for the caller to look
// at. Reads 18 bytes from `at`.
const char* ReadShortNumber(const char* at, Value* value);

// Reads a number as ReadShortNumber does, a string of ASCII without escapes, or a boolean. The
// place behind it, null where it is none of these; what follows is for the caller to look at, which
// may stand behind `end`, too. REQUIRES: 32 readable bytes behind `end`.
const char* ReadPlainScalar(const char* at, const char* end, Value* value);

enum class NumberFault : uint8_t {
  kNone,
  kMalformed,      // No JSON number.
  kIntegerTooBig,  // Beyond 64 bits.
  kFloatTooBig,    // Beyond the finite doubles.
};
NumberFault ReadNumber(std::string_view token, Value* value);

enum class EscapeFault : uint8_t {
  kNone,
  kMalformed,      // No JSON escape.
  kLoneSurrogate,  // \ud800 without its other half: no character.
};
// Replaces *out by what `raw` (the bytes between the quotes) stands for. On a fault *at tells where
// in `raw`.
EscapeFault Unescape(std::string_view raw, std::string* out, size_t* at);

namespace json_internal {

inline constexpr uint64_t kEach = 0x0101010101010101;  // Times a byte: that byte, eight times.

// Eight digits, the first in the lowest byte, each as its number.
inline uint64_t ToNumber(uint64_t digits) {
  digits = digits * 10 + (digits >> 8);
  constexpr uint64_t kPairs = 0x000000FF000000FF;
  return ((digits & kPairs) * (100 + (uint64_t{1'000'000} << 32)) +
          (digits >> 16 & kPairs) * (1 + (uint64_t{10'000} << 32))) >>
         32;
}

// The highest bit of each byte that is more than 9.
inline uint64_t OtherThanDigits(uint64_t digits) {
  constexpr uint64_t kHigh = kEach * 0x80;
  return (((digits & ~kHigh) + kEach * (0x80 - 10)) | digits) & kHigh;
}

inline uint64_t Load(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

}  // namespace json_internal

inline const char* ReadShortNumber(const char* at, Value* value) {
  using namespace json_internal;
  constexpr unsigned kByte = 8;
  constexpr unsigned kWord = 64;
  const bool negative = *at == '-';
  at += negative;
  // '0' is taken from each character; those that are no digits become more than 9. What is counted
  // below is bits of such words, the first character in the lowest ones.
  const uint64_t first = Load(at) ^ kEach * '0';
  const auto bits_before = [](uint64_t other) {
    return static_cast<unsigned>(std::countr_zero(other)) & ~(kByte - 1);
  };
  const uint64_t others = OtherThanDigits(first);
  const bool leads_with_zero = *at == '0';
  if (others == 0) {
    const uint64_t second = Load(at + 8) ^ kEach * '0';
    const unsigned end = bits_before(OtherThanDigits(second));
    if (leads_with_zero || (end == kWord && IsDigit(at[16]))) return nullptr;
    const uint64_t tail = end == 0 ? 0 : ToNumber(second << (kWord - end));
    const auto number = static_cast<int64_t>(ToNumber(first) * kPowersOfTen[end / kByte] + tail);
    *value = Value::Int(negative ? -number : number);
    return at + 8 + end / kByte;
  }
  const unsigned point = bits_before(others);
  if (point == 0 || (leads_with_zero && point > kByte)) return nullptr;
  if (at[point / kByte] != '.') {
    const auto number = static_cast<int64_t>(ToNumber(first << (kWord - point)));
    *value = Value::Int(negative ? -number : number);
    return at + point / kByte;
  }
  const unsigned end = bits_before(others & (others - 1));
  if (end == point + kByte || (end == kWord && IsDigit(at[8]))) return nullptr;
  // What stands behind the point moves to its place.
  const uint64_t before = first & ((uint64_t{1} << point) - 1);
  const uint64_t digits = before | first >> (point + kByte) << point;
  const auto mantissa = static_cast<int64_t>(ToNumber(digits << (kWord + kByte - end)));
  if (mantissa == 0 && negative) return nullptr;  // -0.0 is no decimal.
  *value = Value::Decimal(negative ? -mantissa : mantissa,
                          static_cast<uint8_t>((end - point) / kByte - 1));
  return at + end / kByte;
}

namespace json_internal {

// The quote that closes the string whose text begins there; null: what comes first is an escape, a
// control character, or not ASCII.
inline const char* PlainTextEnd(const char* at, const char* end) {
  for (; at < end; at += 8) {
    const uint64_t word = Load(at);
    const auto zeros = [](uint64_t bytes) { return (bytes - kEach) & ~bytes; };
    // The lowest bit of each is true; those above a true one need not be.
    const uint64_t controls = (word - kEach * 0x20) & ~word;
    const uint64_t stops =
        (zeros(word ^ kEach * '"') | zeros(word ^ kEach * '\\') | controls | word) & kEach * 0x80;
    if (stops == 0) continue;
    at += std::countr_zero(stops) / 8;
    return *at == '"' ? at : nullptr;
  }
  return nullptr;
}

}  // namespace json_internal

inline const char* ReadPlainScalar(const char* at, const char* end, Value* value) {
  if (*at <= '9' && *at >= '-') return ReadShortNumber(at, value);
  if (*at == '"') {
    const char* const close = json_internal::PlainTextEnd(at + 1, end);
    if (close == nullptr) return nullptr;
    *value = Value::String({at + 1, static_cast<size_t>(close - at) - 1});
    return close + 1;
  }
  const std::string_view word(at, 5);
  const bool is_true = word.starts_with("true");
  if (!is_true && word != "false") return nullptr;
  *value = Value::Bool(is_true);
  return at + (is_true ? 4 : 5);
}

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_JSON_SCALAR_H_
