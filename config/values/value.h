// Value: one typed scalar, as it travels from a decoder to a cell and back. 16 bytes, trivially
// copyable, owns nothing: strings and bytes are views whose owner (a request body, an arena, a row
// buffer) must outlive the Value.
//
// A float64 is held either as a raw double or, when it was read from at most 15 decimal digits, as
// a decimal (mantissa / 10^scale). Both are the same float64: the decimal is exact because mantissa
// and 10^scale are exactly representable and IEEE division rounds correctly. The decimal form saves
// the parse, and 5 to 6 bytes on disk.
//
// As text (in keys, qualifiers, filters, CSV) a float is its shortest round-trip spelling, with
// ".0" when it is integral; below 0.0001 and from 1e16 on it has an exponent ("1e-05", "1e+16").
#ifndef TALLYD_CONFIG_VALUES_VALUE_H_
#define TALLYD_CONFIG_VALUES_VALUE_H_

#include <bit>
#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tallyd {

enum class ValueType : uint8_t { kNull = 0, kInt64, kFloat64, kBool, kString, kBytes };

std::string_view ToString(ValueType type);  // "int64", "float64", ...

class Value {
 public:
  static constexpr uint8_t kRawDouble = 255;
  // 10^22 is the last power of ten that a double holds exactly.
  static constexpr uint8_t kMaxScale = 22;
  // Any decimal of 15 digits is a double of its own.
  static constexpr int64_t kMaxMantissa = 999'999'999'999'999;

  constexpr Value() : Value(0, ValueType::kNull) {}  // An absent field.
  static Value Int(int64_t v);
  static Value Double(double v);  // Finite. Chooses the raw form.
  // |mantissa| <= kMaxMantissa, scale <= kMaxScale. Negative zero has no decimal form: use
  // Double(-0.0).
  static Value Decimal(int64_t mantissa, uint8_t scale);
  static Value Bool(bool v);
  static Value String(std::string_view v);  // UTF-8. Viewed, not copied. At most 4 GiB.
  static Value Bytes(std::string_view v);

  ValueType type() const { return static_cast<ValueType>(about_ >> kTypeShift & 0xff); }
  bool is_null() const { return type() == ValueType::kNull; }
  bool is_number() const { return type() == ValueType::kInt64 || type() == ValueType::kFloat64; }

  // Each requires its type.
  int64_t AsInt() const { return static_cast<int64_t>(bits_); }
  bool AsBool() const { return bits_ != 0; }
  double AsDouble() const;           // Also of an int64 (then rounded).
  std::string_view AsView() const {  // Of strings and bytes.
    return {reinterpret_cast<const char*>(bits_), about_ & 0xffff'ffff};
  }

  // In bytes; 0 of what is no text.
  size_t text_size() const { return about_ & 0xffff'ffff; }

  // Whether a float64 is held as a decimal, and its parts.
  bool is_decimal() const { return type() == ValueType::kFloat64 && scale() != kRawDouble; }
  int64_t mantissa() const { return static_cast<int64_t>(bits_); }
  uint8_t scale() const { return about_ >> kScaleShift & 0xff; }

  // For those who gather values that are alike: type and scale as one number, and of what is no
  // text the integer, the mantissa, the bits of the double, or 0 and 1.
  uint32_t form() const { return static_cast<uint32_t>(about_ >> kTypeShift); }
  int64_t bits() const { return static_cast<int64_t>(bits_); }

  // Same type and same value; floats by their bits (so 0.0 != -0.0), whatever form holds them.
  friend bool operator==(const Value& a, const Value& b);

 private:
  static constexpr int kTypeShift = 32;
  static constexpr int kScaleShift = 40;

  constexpr Value(uint64_t bits, ValueType type, uint32_t size = 0, uint8_t scale = kRawDouble)
      : bits_(bits),
        about_(size | uint64_t{static_cast<uint8_t>(type)} << kTypeShift |
               uint64_t{scale} << kScaleShift) {}

  // Two words and not a field for each part: parts that are stored one by one and then loaded
  // together, as copies do, cost a stall each time.
  uint64_t bits_;   // The integer, the mantissa, the double, the bool, or where the text is.
  uint64_t about_;  // The text's size, 32 bits; type and scale above it.
};

static_assert(sizeof(Value) == 16);

inline Value Value::Int(int64_t v) { return {static_cast<uint64_t>(v), ValueType::kInt64}; }

inline Value Value::Double(double v) { return {std::bit_cast<uint64_t>(v), ValueType::kFloat64}; }

inline Value Value::Decimal(int64_t mantissa, uint8_t scale) {
  assert(mantissa >= -kMaxMantissa && mantissa <= kMaxMantissa);
  assert(scale <= kMaxScale);
  return {static_cast<uint64_t>(mantissa), ValueType::kFloat64, 0, scale};
}

inline Value Value::Bool(bool v) { return {v ? 1u : 0u, ValueType::kBool}; }

inline Value Value::String(std::string_view v) {
  return {reinterpret_cast<uint64_t>(v.data()), ValueType::kString,
          static_cast<uint32_t>(v.size())};
}

inline Value Value::Bytes(std::string_view v) {
  return {reinterpret_cast<uint64_t>(v.data()), ValueType::kBytes, static_cast<uint32_t>(v.size())};
}

// Appends the text of a value; null appends nothing.
void AppendText(const Value& value, std::string* out);
std::string ToText(const Value& value);

// Whether a text may be a number's, by its first byte.
inline bool MayBeNumber(std::string_view text) {
  return !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
}
// A number where `text` is exactly that number's text as AppendText spells it, else a string (a
// view of `text`).
Value ValueFromText(std::string_view text);

// Reads a JSON number token (no surrounding space): an int64 when it has neither point nor
// exponent, else a float64. Empty when it is not a JSON number, an integer beyond int64, or a float
// beyond the finite doubles.
std::optional<Value> ParseNumber(std::string_view token);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_VALUE_H_
