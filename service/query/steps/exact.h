// Numbers of all types in one that holds each of them exactly, so that they compare as the numbers
// they are: every int64, every double. And what lies between two of them.
#ifndef TALLYD_SERVICE_QUERY_STEPS_EXACT_H_
#define TALLYD_SERVICE_QUERY_STEPS_EXACT_H_

#include <cmath>
#include <cstdint>
#include <limits>

#include "config/values/aggregate.h"
#include "config/values/value.h"

namespace tallyd {

static_assert(std::numeric_limits<long double>::digits >= 63);

// REQUIRES: value.is_number().
inline long double Exactly(const Value& value) {
  return value.type() == ValueType::kInt64 ? static_cast<long double>(value.AsInt())
                                           : static_cast<long double>(value.AsDouble());
}

// REQUIRES: both are numbers. Those of one form compare as the integers that they are held as.
inline bool IsLess(const Value& a, const Value& b) {
  const bool is_alike = a.type() == b.type() && a.scale() == b.scale() &&
                        (a.type() == ValueType::kInt64 || a.is_decimal());
  return is_alike ? a.mantissa() < b.mantissa() : Exactly(a) < Exactly(b);
}

// What no double holds is told as nothing.
inline Value FiniteOrNull(double value) {
  return std::isfinite(value) ? Value::Double(value) : Value();
}

// What lies `part` of `whole` on the line from one number to another; of integers an integer, where
// the line meets one. REQUIRES: part <= whole < 2^62, and not 0.
inline Value Between(const Value& from, const Value& to, uint64_t part, uint64_t whole) {
  const auto share = static_cast<long double>(part) / static_cast<long double>(whole);
  if (from.type() != ValueType::kInt64 || to.type() != ValueType::kInt64) {
    return FiniteOrNull(static_cast<double>(Exactly(from) + (Exactly(to) - Exactly(from)) * share));
  }
  const auto told = [whole](int64_t quotient, int64_t rest) {
    if (rest == 0) return Value::Int(quotient);
    return Value::Double(
        static_cast<double>(static_cast<long double>(quotient) +
                            static_cast<long double>(rest) / static_cast<long double>(whole)));
  };
  // Near numbers need no division of 128 bits, which costs some ten times as much.
  const auto behind = static_cast<int64_t>(part);
  const auto before = static_cast<int64_t>(whole - part);
  int64_t first = 0;
  int64_t second = 0;
  int64_t sum = 0;
  if (!__builtin_mul_overflow(from.AsInt(), before, &first) &&
      !__builtin_mul_overflow(to.AsInt(), behind, &second) &&
      !__builtin_add_overflow(first, second, &sum)) {
    const auto length = static_cast<int64_t>(whole);
    return told(sum / length, sum % length);
  }
  // Far numbers on both sides of zero lose no digits.
  const auto all = static_cast<Int128>(whole);
  const auto done = static_cast<Int128>(part);
  const Int128 weighted = Int128{from.AsInt()} * (all - done) + Int128{to.AsInt()} * done;
  return told(static_cast<int64_t>(weighted / all), static_cast<int64_t>(weighted % all));
}

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_STEPS_EXACT_H_
