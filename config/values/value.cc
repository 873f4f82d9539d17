#include "config/values/value.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "config/values/number_text.h"

namespace tallyd {
namespace {

constexpr std::array<double, Value::kMaxScale + 1> kPowersOfTen = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

constexpr int kDigitsOfUint64 = 19;  // Any number of so many digits fits.
constexpr int kDigitsOfInt64 = 18;
constexpr int64_t kExponentCap =
    1'000'000;  // Beyond any double; keeps the sums below from overflow.

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

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
  if (type() == ValueType::kInt64) return static_cast<double>(AsInt());
  if (scale() == kRawDouble) return std::bit_cast<double>(bits_);
  return static_cast<double>(mantissa()) / kPowersOfTen[scale()];
}

bool operator==(const Value& a, const Value& b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case ValueType::kNull:
      return true;
    case ValueType::kInt64:
    case ValueType::kBool:
      return a.bits_ == b.bits_;
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
    case ValueType::kFloat64: {
      char text[kMaxNumberText];
      out->append(text, WriteNumber(value, text));
      return;
    }
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

Value ValueFromText(std::string_view text) {
  constexpr size_t kLongestSpelling = 25;  // "-1.2345678901234567e-308" and a byte to spare.
  if (!MayBeNumber(text) || text.size() > kLongestSpelling) {
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
