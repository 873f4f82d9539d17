#include "config/values/aggregate.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "config/values/digits.h"

namespace tallyd {
namespace {

__extension__ using UInt128 = unsigned __int128;

constexpr size_t kSumBytes = 16;

bool FitsInt64(Int128 number) {
  return number >= std::numeric_limits<int64_t>::min() &&
         number <= std::numeric_limits<int64_t>::max();
}

Value StateOf(Int128 number, std::string* bytes) {
  if (FitsInt64(number)) return Value::Int(static_cast<int64_t>(number));
  bytes->clear();
  for (size_t i = kSumBytes; i-- > 0;) {
    bytes->push_back(static_cast<char>(static_cast<UInt128>(number) >> (8 * i)));
  }
  return Value::Bytes(*bytes);
}

// Of numeric kinds. What is in bytes and fits an Int is none: one number has one state.
std::optional<Int128> NumberOf(Aggregate kind, const Value& state) {
  if (state.type() == ValueType::kInt64) return state.AsInt();
  if (!InfoOf(kind).is_wide || state.type() != ValueType::kBytes) return std::nullopt;
  const std::string_view bytes = state.AsView();
  if (bytes.size() != kSumBytes) return std::nullopt;
  UInt128 number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  const auto sum = static_cast<Int128>(number);
  return FitsInt64(sum) ? std::nullopt : std::optional(sum);
}

Int128 FoldNumbers(Aggregate kind, Int128 a, Int128 b) {
  switch (kind) {
    case Aggregate::kSum:
      return static_cast<Int128>(static_cast<UInt128>(a) + static_cast<UInt128>(b));
    case Aggregate::kMin:
      return std::min(a, b);
    case Aggregate::kMax:
      return std::max(a, b);
    case Aggregate::kHll:
      break;
  }
  assert(false);
  return a;
}

Error NotAccepted(Aggregate kind, std::string_view what) {
  std::string message(what);
  message.append("; ").append(ToString(kind)).append(" takes ").append(InfoOf(kind).inputs);
  return Invalid(std::move(message));
}

}  // namespace

void AppendInt128(Int128 number, std::string* out) {
  if (number < 0) out->push_back('-');
  UInt128 rest = static_cast<UInt128>(number);
  if (number < 0) rest = -rest;
  const size_t first = out->size();
  do {
    out->push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest > 0);
  std::reverse(out->begin() + static_cast<std::ptrdiff_t>(first), out->end());
}

std::optional<Int128> ParseInt128(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  // Of negative numbers one more fits.
  const UInt128 most = (static_cast<UInt128>(1) << 127) - (negative ? 0 : 1);
  UInt128 number = 0;
  for (const char digit : text) {
    if (!IsDigit(digit)) return std::nullopt;
    const auto next = static_cast<UInt128>(digit - '0');
    if (number > (most - next) / 10) return std::nullopt;
    number = number * 10 + next;
  }
  if (negative && number == 0) return std::nullopt;
  return static_cast<Int128>(negative ? -number : number);
}

Result<Value> StateOfInput(Aggregate kind, const Value& input, std::string* bytes, int64_t most) {
  const ValueType type = input.type();
  if (InfoOf(kind).is_numeric) {
    if (type == ValueType::kInt64) {
      // The least int64 has no opposite.
      const bool is_taken = !InfoOf(kind).counts_repeats || most == kAnyAdded ||
                            (input.AsInt() <= most && input.AsInt() >= -most);
      if (is_taken) return input;
      return NotAccepted(kind, "it is " + std::to_string(input.AsInt()) + ", and the engine adds " +
                                   std::to_string(most) + " at most");
    }
  } else if (type == ValueType::kString || type == ValueType::kBytes) {
    HyperLogLog sketch;
    sketch.Add(input.AsView());
    bytes->clear();
    sketch.Encode(bytes);
    return Value::Bytes(*bytes);
  }
  return NotAccepted(kind, "it is of type " + std::string(ToString(type)));
}

Result<Value> StateOfNumber(Aggregate kind, std::string_view digits, std::string* bytes) {
  const std::optional<Int128> number = ParseInt128(digits);
  if (!InfoOf(kind).is_numeric) return NotAccepted(kind, "a number is no state of it");
  if (!number) return NotAccepted(kind, "it is not a whole number of up to 128 bits");
  if (!InfoOf(kind).is_wide && !FitsInt64(*number)) {
    return NotAccepted(kind, "it is not a whole number of 64 bits");
  }
  return StateOf(*number, bytes);
}

Result<Value> StateOfBytes(Aggregate kind, std::string_view state) {
  if (InfoOf(kind).is_numeric) return NotAccepted(kind, "bytes are no state of it");
  const Value value = Value::Bytes(state);
  if (!IsState(kind, value))
    return Invalid("these bytes are not a state of hll, as raw=1 gives it");
  return value;
}

bool IsState(Aggregate kind, const Value& state) {
  if (InfoOf(kind).is_numeric) return NumberOf(kind, state).has_value();
  return state.type() == ValueType::kBytes && HyperLogLog().Merge(state.AsView());
}

std::optional<Int128> ReadState(Aggregate kind, const Value& state) {
  if (InfoOf(kind).is_numeric) return NumberOf(kind, state);
  HyperLogLog sketch;
  if (state.type() != ValueType::kBytes || !sketch.Merge(state.AsView())) return std::nullopt;
  return static_cast<Int128>(sketch.Estimate());
}

bool AggregateFold::Add(const Value& state) {
  if (!InfoOf(kind_).is_numeric) {
    if (state.type() != ValueType::kBytes || !sketch_.Merge(state.AsView())) return false;
  } else {
    const std::optional<Int128> number = NumberOf(kind_, state);
    if (!number) return false;
    number_ = any_ ? FoldNumbers(kind_, number_, *number) : *number;
  }
  any_ = true;
  return true;
}

Value AggregateFold::Get(std::string* bytes) const {
  if (!any_) return {};
  if (InfoOf(kind_).is_numeric) return StateOf(number_, bytes);
  bytes->clear();
  sketch_.Encode(bytes);
  return Value::Bytes(*bytes);
}

}  // namespace tallyd
