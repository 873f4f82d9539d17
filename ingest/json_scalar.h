// JSON's scalars: numbers, the escapes of strings. Pure functions of bytes.
#ifndef TALLYD_INGEST_JSON_SCALAR_H_
#define TALLYD_INGEST_JSON_SCALAR_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "config/value.h"

namespace tallyd {

// Whether `c` may follow a number or a word.
inline bool IsJsonDelimiter(char c) {
  return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t' ||
         c == ':';
}

// The common numbers, straight from their digits: up to 18 digits without a point, up to 15 with
// one. Reads at most 20 bytes from `at`; moves it behind the number. False: let ReadNumber decide.
inline bool ReadShortNumber(const char** at, Value* value) {
  const char* p = *at;
  const bool negative = *p == '-';
  p += negative;
  const char* const digits = p;
  int64_t mantissa = 0;
  auto digit = [&p]() { return static_cast<unsigned char>(*p - '0'); };
  for (; digit() < 10; ++p) {
    if (p - digits == 18) return false;
    mantissa = mantissa * 10 + digit();
  }
  const auto integral = p - digits;
  if (integral == 0 || (*digits == '0' && integral > 1)) return false;
  if (*p != '.') {
    if (*p == 'e' || *p == 'E') return false;
    *value = Value::Int(negative ? -mantissa : mantissa);
    *at = p;
    return true;
  }
  const char* const fraction = ++p;
  for (; digit() < 10; ++p) {
    if (integral + (p - fraction) >= 15) return false;
    mantissa = mantissa * 10 + digit();
  }
  if (p == fraction || integral > 15 || *p == 'e' || *p == 'E') return false;
  if (mantissa == 0 && negative) return false;  // Negative zero has no decimal form.
  *value = Value::Decimal(negative ? -mantissa : mantissa, static_cast<uint8_t>(p - fraction));
  *at = p;
  return true;
}

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

}  // namespace tallyd

#endif  // TALLYD_INGEST_JSON_SCALAR_H_
