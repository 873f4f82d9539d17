// JSON's scalars: numbers, the escapes of strings. Pure functions of bytes.
#ifndef TALLYD_INGEST_DECODE_JSON_SCALAR_H_
#define TALLYD_INGEST_DECODE_JSON_SCALAR_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "config/values/value.h"

namespace tallyd {

inline bool IsJsonSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Whether `c` may follow a number or a word.
inline bool IsJsonDelimiter(char c) {
  return c == ',' || c == '}' || c == ']' || c == ':' || IsJsonSpace(c);
}

// The common numbers, straight from the digits of a whole token: integers of up to 16 digits,
// decimals of up to 8 characters. Without a loop, whose length no branch predictor would know.
// Reads 17 bytes from `token`, whatever its size. False: let ReadNumber decide.
bool ReadShortNumber(const char* token, size_t size, Value* value);

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

// Whether each byte is at most 9.
inline bool AreDigits(uint64_t digits) {
  return ((digits + kEach * (0x80 - 10)) & kEach * 0x80) == 0 && (digits & kEach * 0x80) == 0;
}

inline uint64_t Load(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

}  // namespace json_internal

inline bool ReadShortNumber(const char* token, size_t size, Value* value) {
  using namespace json_internal;
  const bool negative = *token == '-';
  token += negative;
  size -= negative;
  // Subtracts '0' from each character; those that are none become more than 9.
  uint64_t first = Load(token) ^ kEach * '0';
  if (size - 1 >= 8) {
    if (size - 1 >= 16) return false;
    uint64_t second = Load(token + 8) ^ kEach * '0';
    second <<= 8 * (16 - size);
    const unsigned shift = 8 * static_cast<unsigned>(16 - size);
    // The last eight characters of the token, and what stands before them.
    const uint64_t low = shift == 0 ? second : second | first >> (64 - shift);
    const uint64_t high = first << shift;
    if (!AreDigits(low) || !AreDigits(high) || (first & 0xFF) == 0) return false;
    const auto number = static_cast<int64_t>(ToNumber(high) * 100'000'000 + ToNumber(low));
    *value = Value::Int(negative ? -number : number);
    return true;
  }
  first <<= 8 * (8 - size);  // As if there were zeros in front.
  if (AreDigits(first)) {
    if (*token == '0' && size > 1) return false;
    const auto number = static_cast<int64_t>(ToNumber(first));
    *value = Value::Int(negative ? -number : number);
    return true;
  }
  const uint64_t no_points = first ^ kEach * ('.' ^ '0');
  const uint64_t points = (no_points - kEach) & ~no_points & kEach * 0x80;
  if (points == 0) return false;
  const auto point = static_cast<unsigned>(std::countr_zero(points)) / 8;  // Which byte.
  const unsigned scale = 7 - point;
  const size_t integral = size - 1 - scale;
  if (scale == 0 || integral == 0 || (*token == '0' && integral > 1)) return false;
  // What stands before the point moves up one place.
  const uint64_t before = first & ((uint64_t{1} << 8 * point) - 1);
  const uint64_t behind = first >> 8 * point >> 8 << 8 * point << 8;
  const uint64_t digits = before << 8 | behind;
  const auto mantissa = static_cast<int64_t>(ToNumber(digits));
  if (!AreDigits(digits) || (mantissa == 0 && negative)) return false;  // -0.0 is no decimal.
  *value = Value::Decimal(negative ? -mantissa : mantissa, static_cast<uint8_t>(scale));
  return true;
}

namespace json_internal {

// How many bytes there look like those of a number: digits, '-', '.' and '/', of at most 16.
inline size_t NumberBytes(const char* at) {
  size_t bytes = 0;
  for (const char* word_at : {at, at + 8}) {
    const uint64_t word = Load(word_at);
    const uint64_t low = word & kEach * 0x7F;
    const uint64_t within = (low + kEach * (0x80 - '-')) & ~(low + kEach * (0x7F - '9'));
    const uint64_t ends = (~within | word) & kEach * 0x80;
    if (ends != 0) return bytes + static_cast<unsigned>(std::countr_zero(ends)) / 8;
    bytes += 8;
  }
  return bytes;
}

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
  const size_t size = json_internal::NumberBytes(at);
  if (size > 0) {
    return ReadShortNumber(at, size, value) ? at + size : nullptr;
  }
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
