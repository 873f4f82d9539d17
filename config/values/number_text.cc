#include "config/values/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include "config/values/digits.h"

namespace tallyd {
namespace {

// Floats from here on, and below, are spelled with an exponent.
constexpr double kFixedEnd = 1e16;
constexpr double kFixedBegin = 1e-4;
constexpr int kFixedZeros = 4;  // Of kFixedBegin, behind the point.

char* WriteUnsigned(uint64_t v, char* to) {
  const size_t count = CountDigits(v);
  WriteLastDigits(count, v, to + count);
  return to + count;
}

uint64_t Magnitude(int64_t v) {
  return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
}

// The digits of a decimal of at most 15 digits are those of its double's shortest spelling: any two
// such decimals are different doubles, so no shorter one can stand for the same double.
char* WriteDecimal(const Value& value, char* to) {
  uint64_t mantissa = Magnitude(value.mantissa());
  int scale = value.scale();
  for (; scale > 0 && mantissa % 10 == 0; --scale) mantissa /= 10;
  if (scale > kFixedZeros && mantissa < kPowersOfTen[static_cast<size_t>(scale - kFixedZeros)]) {
    return WriteDouble(value.AsDouble(), to);
  }
  if (value.mantissa() < 0) *to++ = '-';
  const auto fraction = static_cast<size_t>(scale);
  const size_t digits = std::max(CountDigits(mantissa), fraction + 1);
  char* const point = to + (digits - fraction);
  char* const end = point + 1 + std::max<size_t>(fraction, 1);
  end[-1] = '0';
  const uint64_t whole = WriteLastDigits(fraction, mantissa, end);
  *point = '.';
  WriteLastDigits(digits - fraction, whole, point);
  return end;
}

}  // namespace

char* WriteInt(int64_t v, char* to) {
  if (v < 0) *to++ = '-';
  return WriteUnsigned(Magnitude(v), to);
}

char* WriteDouble(double v, char* to) {
  const double magnitude = std::fabs(v);
  const bool fixed = magnitude == 0 || (magnitude >= kFixedBegin && magnitude < kFixedEnd);
  // At most 17 digits, a sign, a point, and four zeros or an exponent.
  char* end = std::to_chars(to, to + kMaxNumberText, v,
                            fixed ? std::chars_format::fixed : std::chars_format::scientific)
                  .ptr;
  const std::string_view text(to, static_cast<size_t>(end - to));
  if (!fixed || text.find('.') != std::string_view::npos) return end;
  *end++ = '.';
  *end++ = '0';
  return end;
}

char* WriteNumber(const Value& value, char* to) {
  if (value.type() == ValueType::kInt64) return WriteInt(value.AsInt(), to);
  return value.is_decimal() ? WriteDecimal(value, to) : WriteDouble(value.AsDouble(), to);
}

}  // namespace tallyd
