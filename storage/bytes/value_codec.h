// One value as stored (storage/FORMAT.md, Values): exact to the bit and the type. In the header,
// because both directions are the inner loop of ingest and of every scan.
#ifndef TALLYD_STORAGE_BYTES_VALUE_CODEC_H_
#define TALLYD_STORAGE_BYTES_VALUE_CODEC_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "config/values/value.h"
#include "storage/batch.h"
#include "storage/bytes/coding.h"

namespace tallyd {

// DO NOT CHANGE THESE VALUES: they are stored. Kinds from kDecimal on are kDecimal + scale.
enum ValueKind : uint8_t {
  kKindInt = 0,
  kKindInt64 = 1,
  kKindDouble = 2,
  kKindFalse = 3,
  kKindTrue = 4,
  kKindString = 5,
  kKindBytes = 6,
  kKindAbsent = 7,
  kKindDecimal = 8,
};
inline constexpr uint8_t kMaxStoredScale = 7;
inline constexpr unsigned kKindBits = 4;
inline constexpr int64_t kMaxShortInt = (int64_t{1} << 59) - 1;

// The most bytes that a value takes, and one that is no text.
inline constexpr size_t kMaxNumberBytes = kMaxVarintBytes + 1;
inline size_t MaxValueBytes(const Value& value) {
  const bool viewed = value.type() == ValueType::kString || value.type() == ValueType::kBytes;
  return kMaxNumberBytes + (viewed ? value.AsView().size() : 0);
}

// REQUIRES, both: MaxValueBytes of room.
char* EncodeOtherValue(char* to, const Value& value);  // Of what is no short number.
inline char* EncodeValue(char* to, const Value& value) {
  const bool is_int = value.type() == ValueType::kInt64;
  if (is_int || (value.is_decimal() && value.scale() <= kMaxStoredScale)) [[likely]] {
    const int64_t n = is_int ? value.AsInt() : value.mantissa();
    const auto kind = static_cast<uint64_t>(is_int ? kKindInt : kKindDecimal + value.scale());
    if (n >= -kMaxShortInt && n <= kMaxShortInt) {
      return EncodeVarint(to, ZigZag(n) << kKindBits | kind);
    }
  }
  return EncodeOtherValue(to, value);
}

// Of the kinds that are not a short number; false if malformed.
bool DecodeLongValue(ByteReader* in, ValueKind kind, uint64_t payload, Value* value);
bool SkipLongValue(ByteReader* in, ValueKind kind, uint64_t payload);

// Strings and bytes are views of what `in` reads. False if malformed.
inline bool DecodeValue(ByteReader* in, Value* value) {
  uint64_t header = 0;
  if (!in->GetVarint(&header)) return false;
  const auto kind = static_cast<uint8_t>(header & ((1u << kKindBits) - 1));
  const uint64_t payload = header >> kKindBits;
  if (kind >= kKindDecimal) {
    const int64_t mantissa = UnZigZag(payload);
    if (mantissa < -Value::kMaxMantissa || mantissa > Value::kMaxMantissa) return false;
    *value = Value::Decimal(mantissa, static_cast<uint8_t>(kind - kKindDecimal));
    return true;
  }
  if (kind == kKindInt) {
    *value = Value::Int(UnZigZag(payload));
    return true;
  }
  return DecodeLongValue(in, static_cast<ValueKind>(kind), payload, value);
}

inline bool SkipValue(ByteReader* in) {
  uint64_t header = 0;
  if (!in->GetVarint(&header)) return false;
  const auto kind = static_cast<uint8_t>(header & ((1u << kKindBits) - 1));
  if (kind >= kKindDecimal || kind == kKindInt) return true;
  return SkipLongValue(in, static_cast<ValueKind>(kind), header >> kKindBits);
}

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BYTES_VALUE_CODEC_H_
