#include "storage/bytes/coding.h"

#include <cmath>

#include "storage/batch.h"

namespace tallyd {
namespace {

char* EncodeFixedValue(char* to, ValueKind kind, uint64_t bits) {
  *to++ = static_cast<char>(kind);
  return EncodeU64(to, bits);
}

}  // namespace

uint64_t LoadShortWord(const char* from, size_t bytes) {
  uint64_t word = ~uint64_t{0};
  for (size_t i = bytes; i > 0; --i) word = word << 8 | static_cast<uint8_t>(from[i - 1]);
  return word;
}

bool ByteReader::GetVarintByBytes(uint64_t* v) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 64 && at_ != end_; shift += 7) {
    const auto byte = static_cast<uint8_t>(*at_++);
    if (shift == 63 && byte > 1) return false;
    result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *v = result;
      return true;
    }
  }
  return false;
}

char* EncodeOtherValue(char* to, const Value& value) {
  switch (value.type()) {
    case ValueType::kNull:
      *to++ = kAbsentValue;
      return to;
    case ValueType::kInt64:
      return EncodeFixedValue(to, kKindInt64, static_cast<uint64_t>(value.AsInt()));
    case ValueType::kFloat64:
      return EncodeFixedValue(to, kKindDouble, std::bit_cast<uint64_t>(value.AsDouble()));
    case ValueType::kBool:
      *to++ = static_cast<char>(value.AsBool() ? kKindTrue : kKindFalse);
      return to;
    case ValueType::kString:
    case ValueType::kBytes:
      break;
  }
  return to;
}

bool DecodeLongValue(ByteReader* in, ValueKind kind, uint64_t payload, Value* value) {
  uint64_t bits = 0;
  std::string_view view;
  const bool viewed = kind == kKindString || kind == kKindBytes;
  if (!viewed && payload != 0) return false;
  switch (kind) {
    case kKindInt64:
      if (!in->GetU64(&bits)) return false;
      *value = Value::Int(static_cast<int64_t>(bits));
      return true;
    case kKindDouble: {
      if (!in->GetU64(&bits)) return false;
      const auto number = std::bit_cast<double>(bits);
      if (!std::isfinite(number)) return false;
      *value = Value::Double(number);
      return true;
    }
    case kKindFalse:
    case kKindTrue:
      *value = Value::Bool(kind == kKindTrue);
      return true;
    case kKindString:
    case kKindBytes:
      if (payload > kMaxValueBytes || !in->GetBytes(payload, &view)) return false;
      *value = kind == kKindString ? Value::String(view) : Value::Bytes(view);
      return true;
    case kKindAbsent:
      *value = Value();
      return true;
    default:
      return false;
  }
}

bool SkipLongValue(ByteReader* in, ValueKind kind, uint64_t payload) {
  std::string_view view;
  switch (kind) {
    case kKindInt64:
    case kKindDouble:
      return payload == 0 && in->GetBytes(sizeof(uint64_t), &view);
    case kKindFalse:
    case kKindTrue:
    case kKindAbsent:
      return payload == 0;
    case kKindString:
    case kKindBytes:
      return in->GetBytes(payload, &view);
    default:
      return false;
  }
}

}  // namespace tallyd
