#include "service/query/steps/growth.h"

#include <limits>

#include "service/query/steps/exact.h"

namespace tallyd {
namespace {

__extension__ using Int128 = __int128;

Value IntegerOf(Int128 number) {
  const bool fits = number >= std::numeric_limits<int64_t>::min() &&
                    number <= std::numeric_limits<int64_t>::max();
  return fits ? Value::Int(static_cast<int64_t>(number))
              : Value::Double(static_cast<double>(number));
}

bool IsInt(const Value& value) { return value.type() == ValueType::kInt64; }

}  // namespace

void Growth::AddStep(const Value& from, const Value& to) {
  const bool fell = Exactly(to) < Exactly(from);
  if (IsInt(from) && IsInt(to)) {
    integers_ += fell ? Int128{to.AsInt()} : Int128{to.AsInt()} - from.AsInt();
  } else {
    floats_ += fell ? Exactly(to) : Exactly(to) - Exactly(from);
  }
}

bool Growth::Add(TimeUs time, const Value& number) {
  has_float_ = has_float_ || !IsInt(number);
  if (is_empty()) {
    first_ = last_ = number;
    first_time_ = last_time_ = time;
    return true;
  }
  if (time >= last_time_) {
    AddStep(last_, number);
    last_ = number;
    last_time_ = time;
    return true;
  }
  if (time >= first_time_) return false;
  AddStep(number, first_);
  first_ = number;
  first_time_ = time;
  return true;
}

bool Growth::Absorb(const Growth& other) {
  if (other.is_empty()) return true;
  if (is_empty()) {
    *this = other;
    return true;
  }
  const bool follows = other.first_time_ >= last_time_;
  const bool precedes = other.last_time_ < first_time_;
  if (follows) AddStep(last_, other.first_);
  if (precedes) AddStep(other.last_, first_);
  integers_ += other.integers_;
  floats_ += other.floats_;
  has_float_ = has_float_ || other.has_float_;
  if (other.first_time_ < first_time_) {
    first_ = other.first_;
    first_time_ = other.first_time_;
  }
  if (other.last_time_ >= last_time_) {
    last_ = other.last_;
    last_time_ = other.last_time_;
  }
  return follows || precedes;
}

void Growth::Follow(const Growth& before) {
  if (is_empty() || before.is_empty()) return;
  has_float_ = has_float_ || !IsInt(before.last_);
  AddStep(before.last_, first_);
}

Value Growth::Total() const {
  if (is_empty()) return Value();
  if (!has_float_) return IntegerOf(integers_);
  return FiniteOrNull(static_cast<double>(static_cast<long double>(integers_) + floats_));
}

Value Growth::PerSecond(int64_t step_us) const {
  if (is_empty()) return Value();
  const long double total = static_cast<long double>(integers_) + floats_;
  return FiniteOrNull(
      static_cast<double>(total * kUsPerSecond / static_cast<long double>(step_us)));
}

Value Growth::LastLessFirst() const {
  if (is_empty()) return Value();
  if (IsInt(first_) && IsInt(last_)) return IntegerOf(Int128{last_.AsInt()} - first_.AsInt());
  return FiniteOrNull(static_cast<double>(Exactly(last_) - Exactly(first_)));
}

}  // namespace tallyd
