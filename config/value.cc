#include "config/value.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

namespace tallyd {
namespace {

constexpr std::array<double, Value::kMaxScale + 1> kPowersOfTen = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Floats from here on, and below, are spelled with an exponent.
constexpr double kFixedEnd = 1e16;
constexpr double kFixedBegin = 1e-4;

constexpr int kDigitsOfUint64 = 19;  // Any number of so many digits fits.
constexpr int kDigitsOfInt64 = 18;
constexpr int64_t kExponentCap =
    1'000'000;  // Beyond any double; keeps the sums below from overflow.

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendInt(int64_t v, std::string* out) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  out->append(buffer, end);
}

// The digits of a decimal of at most 15 digits are those of its double's shortest spelling: any two
// such decimals are different doubles, so no shorter one can stand for the same double.
void AppendDecimal(const Value& value, std::string* out) {
  int64_t mantissa = value.mantissa();
  int scale = value.scale();
  while (scale > 0 && mantissa % 10 == 0) {
    mantissa /= 10;
    --scale;
  }
  const double magnitude = std::fabs(value.AsDouble());
  if (mantissa != 0 && (magnitude < kFixedBegin || magnitude >= kFixedEnd)) {
    AppendDouble(value.AsDouble(), out);
    return;
  }
  if (mantissa < 0) out->push_back('-');
  char digits[24];
  const uint64_t unsigned_mantissa = static_cast<uint64_t>(mantissa < 0 ? -mantissa : mantissa);
  const auto end = std::to_chars(digits, digits + sizeof digits, unsigned_mantissa).ptr;
  const int count = static_cast<int>(end - digits);
  if (scale == 0) {
    out->append(digits, end).append(".0");
  } else if (count > scale) {
    out->append(digits, end - scale).push_back('.');
    out->append(end - scale, end);
  } else {
    out->append("0.").append(static_cast<size_t>(scale - count), '0').append(digits, end);
  }
}

// What the digits of a number token say, before its value is known.
struct Scanned {
  bool negative = false;
  bool is_float = false;
  uint64_t mantissa = 0;    // Meaningless once significant > kDigitsOfUint64.
  int64_t significant = 0;  // Digits from the first that is not zero.
  int64_t fraction_digits = 0;
  int64_t exponent = 0;  // As written after the 'e', capped.
};

const char* ScanDigits(const char* p, const char* end, Scanned* scanned) {
  if (scanned->significant == 0) {
    while (p != end && *p == '0') ++p;
  }
  const char* const first = p;
  uint64_t mantissa = scanned->mantissa;
  for (; p != end && IsDigit(*p); ++p) mantissa = mantissa * 10 + static_cast<uint64_t>(*p - '0');
  scanned->mantissa = mantissa;
  scanned->significant += p - first;
  return p;
}

// Null when there is no digit.
const char* ScanExponent(const char* p, const char* end, Scanned* scanned) {
  bool negative = false;
  if (p != end && (*p == '+' || *p == '-')) negative = *p++ == '-';
  if (p == end || !IsDigit(*p)) return nullptr;
  for (; p != end && IsDigit(*p); ++p) {
    if (scanned->exponent < kExponentCap) scanned->exponent = scanned->exponent * 10 + (*p - '0');
  }
  if (negative) scanned->exponent = -scanned->exponent;
  return p;
}

// The grammar of RFC 8259 numbers.
bool ScanNumber(std::string_view token, Scanned* scanned) {
  const char* p = token.data();
  const char* const end = p + token.size();
  if (p != end && *p == '-') {
    scanned->negative = true;
    ++p;
  }
  if (p == end || !IsDigit(*p)) return false;
  if (*p == '0' && p + 1 != end && IsDigit(p[1])) return false;
  p = ScanDigits(p, end, scanned);
  if (p != end && *p == '.') {
    scanned->is_float = true;
    const char* const first = ++p;
    p = ScanDigits(p, end, scanned);
    if (p == first) return false;
    scanned->fraction_digits = p - first;
  }
  if (p != end && (*p == 'e' || *p == 'E')) {
    scanned->is_float = true;
    p = ScanExponent(p + 1, end, scanned);
  }
  return p == end;
}

std::optional<Value> IntegerOf(std::string_view token, const Scanned& scanned) {
  if (scanned.significant <= kDigitsOfInt64) {
    const int64_t magnitude = static_cast<int64_t>(scanned.mantissa);
    return Value::Int(scanned.negative ? -magnitude : magnitude);
  }
  int64_t v = 0;
  const auto [ptr, ec] = std::from_chars(token.data(), token.data() + token.size(), v);
  if (ec != std::errc() || ptr != token.data() + token.size()) return std::nullopt;
  return Value::Int(v);
}

std::optional<Value> RawDoubleOf(std::string_view token, const Scanned& scanned) {
  double v = 0;
  const auto [ptr, ec] = std::from_chars(token.data(), token.data() + token.size(), v);
  if (ec == std::errc::result_out_of_range) {
    // Too small is zero, too great is refused. The power of ten of the first digit tells which.
    const int64_t power = scanned.exponent + scanned.significant - scanned.fraction_digits;
    if (power > 0) return std::nullopt;
    return Value::Double(scanned.negative ? -0.0 : 0.0);
  }
  if (ec != std::errc() || !std::isfinite(v)) return std::nullopt;
  return Value::Double(v);
}

std::optional<Value> FloatOf(std::string_view token, const Scanned& scanned) {
  if (scanned.significant == 0) {
    return scanned.negative ? Value::Double(-0.0) : Value::Decimal(0, 0);
  }
  if (scanned.significant > kDigitsOfUint64) return RawDoubleOf(token, scanned);
  uint64_t mantissa = scanned.mantissa;
  int64_t scale = scanned.fraction_digits - scanned.exponent;
  while (scale > 0 && mantissa % 10 == 0) {
    mantissa /= 10;
    --scale;
  }
  constexpr auto kMax = static_cast<uint64_t>(Value::kMaxMantissa);
  for (; scale < 0 && mantissa <= kMax / 10; ++scale) mantissa *= 10;
  if (mantissa > kMax || scale < 0 || scale > Value::kMaxScale) return RawDoubleOf(token, scanned);
  const int64_t magnitude = static_cast<int64_t>(mantissa);
  return Value::Decimal(scanned.negative ? -magnitude : magnitude, static_cast<uint8_t>(scale));
}

}  // namespace

std::string_view ToString(ValueType type) {
  switch (type) {
    case ValueType::kNull:
      return "null";
    case ValueType::kInt64:
      return "int64";
    case ValueType::kFloat64:
      return "float64";
    case ValueType::kBool:
      return "bool";
    case ValueType::kString:
      return "string";
    case ValueType::kBytes:
      return "bytes";
  }
  return "unknown";
}

double Value::AsDouble() const {
  if (type_ == ValueType::kInt64) return static_cast<double>(int_);
  if (scale_ == kRawDouble) return double_;
  return static_cast<double>(int_) / kPowersOfTen[scale_];
}

bool operator==(const Value& a, const Value& b) {
  if (a.type_ != b.type_) return false;
  switch (a.type_) {
    case ValueType::kNull:
      return true;
    case ValueType::kInt64:
    case ValueType::kBool:
      return a.int_ == b.int_;
    case ValueType::kFloat64:
      return std::bit_cast<uint64_t>(a.AsDouble()) == std::bit_cast<uint64_t>(b.AsDouble());
    case ValueType::kString:
    case ValueType::kBytes:
      return a.AsView() == b.AsView();
  }
  return false;
}

void AppendText(const Value& value, std::string* out) {
  switch (value.type()) {
    case ValueType::kNull:
      return;
    case ValueType::kInt64:
      AppendInt(value.AsInt(), out);
      return;
    case ValueType::kFloat64:
      if (value.is_decimal()) {
        AppendDecimal(value, out);
      } else {
        AppendDouble(value.AsDouble(), out);
      }
      return;
    case ValueType::kBool:
      out->append(value.AsBool() ? "true" : "false");
      return;
    case ValueType::kString:
    case ValueType::kBytes:
      out->append(value.AsView());
      return;
  }
}

std::string ToText(const Value& value) {
  std::string text;
  AppendText(value, &text);
  return text;
}

void AppendDouble(double v, std::string* out) {
  const double magnitude = std::fabs(v);
  const bool fixed = magnitude == 0 || (magnitude >= kFixedBegin && magnitude < kFixedEnd);
  char buffer[40];  // 17 digits, a sign, a point, four zeros or an exponent.
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v,
                                 fixed ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  out->append(buffer, end);
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  if (fixed && text.find('.') == std::string_view::npos) out->append(".0");
}

Value ValueFromText(std::string_view text) {
  constexpr size_t kLongestSpelling = 25;  // "-1.2345678901234567e-308" and a byte to spare.
  if (text.empty() || text.size() > kLongestSpelling || (text[0] != '-' && !IsDigit(text[0]))) {
    return Value::String(text);
  }
  const std::optional<Value> number = ParseNumber(text);
  if (!number || ToText(*number) != text) return Value::String(text);
  return *number;
}

std::optional<Value> ParseNumber(std::string_view token) {
  Scanned scanned;
  if (!ScanNumber(token, &scanned)) return std::nullopt;
  return scanned.is_float ? FloatOf(token, scanned) : IntegerOf(token, scanned);
}

}  // namespace tallyd
