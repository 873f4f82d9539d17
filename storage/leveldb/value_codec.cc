#include "storage/leveldb/value_codec.h"

namespace tallyd {

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
