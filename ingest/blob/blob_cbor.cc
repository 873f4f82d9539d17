#include <bit>
#include <cmath>

#include "ingest/blob/blob_codec.h"

namespace tallyd {
namespace {

enum Major : uint8_t { kUnsigned = 0, kNegative = 1, kBytes = 2, kText = 3, kMap = 5, kSimple = 7 };
constexpr uint8_t kFalse = 20, kTrue = 21, kNull = 22, kHalf = 25, kSingle = 26, kDouble = 27;

void PutBigEndian(uint64_t v, int bytes, std::string* out) {
  for (int i = bytes - 1; i >= 0; --i) out->push_back(static_cast<char>(v >> (8 * i)));
}

void PutHead(Major major, uint64_t argument, std::string* out) {
  const auto head = [&](uint64_t info) {
    out->push_back(static_cast<char>(major << 5 | static_cast<int>(info)));
  };
  if (argument < 24) {
    head(argument);
  } else if (argument <= 0xFF) {
    head(24);
    PutBigEndian(argument, 1, out);
  } else if (argument <= 0xFFFF) {
    head(25);
    PutBigEndian(argument, 2, out);
  } else if (argument <= 0xFFFFFFFF) {
    head(26);
    PutBigEndian(argument, 4, out);
  } else {
    head(27);
    PutBigEndian(argument, 8, out);
  }
}

void PutValue(const Value& value, std::string* out) {
  switch (value.type()) {
    case ValueType::kNull:
      return PutHead(kSimple, kNull, out);
    case ValueType::kInt64: {
      const int64_t v = value.AsInt();
      // A negative integer n is written as -1 - n.
      return v >= 0 ? PutHead(kUnsigned, static_cast<uint64_t>(v), out)
                    : PutHead(kNegative, ~static_cast<uint64_t>(v), out);
    }
    case ValueType::kFloat64:
      out->push_back(static_cast<char>(kSimple << 5 | kDouble));
      return PutBigEndian(std::bit_cast<uint64_t>(value.AsDouble()), 8, out);
    case ValueType::kBool:
      return PutHead(kSimple, value.AsBool() ? kTrue : kFalse, out);
    case ValueType::kString:
    case ValueType::kBytes:
      PutHead(value.type() == ValueType::kString ? kText : kBytes, value.AsView().size(), out);
      out->append(value.AsView());
  }
}

double HalfToDouble(uint64_t half) {
  const int exponent = static_cast<int>(half >> 10 & 31);
  const auto mantissa = static_cast<double>(half & 1023);
  const double magnitude = exponent == 0    ? std::ldexp(mantissa, -24)
                           : exponent == 31 ? (mantissa == 0 ? HUGE_VAL : std::nan(""))
                                            : std::ldexp(mantissa + 1024, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

class CborReader {
 public:
  explicit CborReader(std::string_view bytes) : rest_(bytes) {}

  bool ReadMap(std::vector<BlobField>* fields) {
    Head head;
    if (!ReadHead(&head) || head.major != kMap) return false;
    // Each entry takes two bytes at least: what is declared beyond is refused before it is read.
    if (head.argument > rest_.size()) return false;
    for (uint64_t i = 0; i < head.argument; ++i) {
      BlobField field;
      Head name;
      if (!ReadHead(&name) || name.major != kText || !Take(name.argument, &field.name))
        return false;
      if (!ReadValue(&field.value)) return false;
      fields->push_back(field);
    }
    return rest_.empty();
  }

 private:
  struct Head {
    uint8_t major = 0;
    uint8_t info = 0;
    uint64_t argument = 0;
  };

  bool ReadHead(Head* head) {
    std::string_view first;
    if (!Take(1, &first)) return false;
    const auto byte = static_cast<unsigned char>(first[0]);
    head->major = byte >> 5;
    head->info = byte & 31;
    head->argument = head->info;
    if (head->info < 24) return true;
    if (head->info > 27) return false;  // Indefinite lengths and reserved forms.
    std::string_view bytes;
    if (!Take(size_t{1} << (head->info - 24), &bytes)) return false;
    head->argument = 0;
    for (const char c : bytes) head->argument = head->argument << 8 | static_cast<unsigned char>(c);
    return true;
  }

  bool ReadValue(Value* value) {
    Head head;
    std::string_view bytes;
    if (!ReadHead(&head)) return false;
    switch (head.major) {
      case kUnsigned:
      case kNegative:
        if (head.argument > INT64_MAX) return false;
        *value = Value::Int(head.major == kUnsigned ? static_cast<int64_t>(head.argument)
                                                    : -1 - static_cast<int64_t>(head.argument));
        return true;
      case kBytes:
      case kText:
        if (!Take(head.argument, &bytes)) return false;
        *value = head.major == kText ? Value::String(bytes) : Value::Bytes(bytes);
        return true;
      case kSimple:
        return ReadSimple(head, value);
      default:
        return false;
    }
  }

  bool ReadSimple(const Head& head, Value* value) {
    double v = 0;
    switch (head.info) {
      case kFalse:
      case kTrue:
        *value = Value::Bool(head.info == kTrue);
        return true;
      case kNull:
        return true;
      case kHalf:
        v = HalfToDouble(head.argument);
        break;
      case kSingle:
        v = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(head.argument)));
        break;
      case kDouble:
        v = std::bit_cast<double>(head.argument);
        break;
      default:
        return false;
    }
    if (!std::isfinite(v)) return false;
    *value = Value::Double(v);
    return true;
  }

  bool Take(uint64_t size, std::string_view* bytes) {
    if (size > rest_.size()) return false;
    *bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
};

}  // namespace

void EncodeCbor(std::span<const BlobField> fields, std::string* out) {
  PutHead(kMap, fields.size(), out);
  for (const BlobField& field : fields) {
    PutHead(kText, field.name.size(), out);
    out->append(field.name);
    PutValue(field.value, out);
  }
}

bool DecodeCbor(std::string_view blob, std::vector<BlobField>* fields) {
  return CborReader(blob).ReadMap(fields);
}

}  // namespace tallyd
