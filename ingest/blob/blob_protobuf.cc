// ingest/measurements.proto, over the wire format itself: a blob is made for each event, and
// messages of generated code would cost an allocation per field.
#include <bit>
#include <cmath>

#include "ingest/blob/blob_codec.h"

namespace tallyd {
namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

constexpr uint32_t Tag(uint32_t number, WireType type) { return number << 3 | type; }
constexpr uint32_t kField = Tag(1, kLengthDelimited);
constexpr uint32_t kName = Tag(1, kLengthDelimited);
constexpr uint32_t kInt = Tag(2, kVarint);
constexpr uint32_t kFloat = Tag(3, kFixed64);
constexpr uint32_t kBool = Tag(4, kVarint);
constexpr uint32_t kText = Tag(5, kLengthDelimited);
constexpr uint32_t kBytes = Tag(6, kLengthDelimited);

constexpr uint64_t ZigZag(int64_t v) {
  return static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63);
}
constexpr int64_t UnZigZag(uint64_t v) { return static_cast<int64_t>(v >> 1 ^ (0 - (v & 1))); }

size_t VarintSize(uint64_t v) { return (static_cast<size_t>(std::bit_width(v | 1)) + 6) / 7; }

void PutVarint(uint64_t v, std::string* out) {
  while (v >= 0x80) {
    out->push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out->push_back(static_cast<char>(v));
}

void PutDelimited(uint32_t tag, std::string_view bytes, std::string* out) {
  PutVarint(tag, out);
  PutVarint(bytes.size(), out);
  out->append(bytes);
}

size_t DelimitedSize(size_t size) { return 1 + VarintSize(size) + size; }

size_t ValueSize(const Value& value) {
  switch (value.type()) {
    case ValueType::kNull:
      return 0;
    case ValueType::kInt64:
      return 1 + VarintSize(ZigZag(value.AsInt()));
    case ValueType::kFloat64:
      return 1 + sizeof(double);
    case ValueType::kBool:
      return 2;
    case ValueType::kString:
    case ValueType::kBytes:
      return DelimitedSize(value.AsView().size());
  }
  return 0;
}

void PutValue(const Value& value, std::string* out) {
  switch (value.type()) {
    case ValueType::kNull:
      break;
    case ValueType::kInt64:
      PutVarint(kInt, out);
      PutVarint(ZigZag(value.AsInt()), out);
      break;
    case ValueType::kFloat64: {
      PutVarint(kFloat, out);
      const auto bits = std::bit_cast<uint64_t>(value.AsDouble());
      for (int i = 0; i < 64; i += 8) out->push_back(static_cast<char>(bits >> i));
      break;
    }
    case ValueType::kBool:
      PutVarint(kBool, out);
      out->push_back(value.AsBool() ? 1 : 0);
      break;
    case ValueType::kString:
      PutDelimited(kText, value.AsView(), out);
      break;
    case ValueType::kBytes:
      PutDelimited(kBytes, value.AsView(), out);
      break;
  }
}

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }

  bool Varint(uint64_t* v) {
    *v = 0;
    for (unsigned shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      if (shift < 64) *v |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool Fixed(size_t size, uint64_t* v) {
    std::string_view bytes;
    if (!Take(size, &bytes)) return false;
    *v = 0;
    for (size_t i = 0; i < size; ++i) {
      *v |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return true;
  }
  bool Delimited(std::string_view* bytes) {
    uint64_t size = 0;
    return Varint(&size) && Take(size, bytes);
  }
  bool Skip(uint64_t tag) {
    uint64_t v = 0;
    std::string_view bytes;
    switch (tag & 7) {
      case kVarint:
        return Varint(&v);
      case kFixed64:
        return Fixed(8, &v);
      case kLengthDelimited:
        return Delimited(&bytes);
      case kFixed32:
        return Fixed(4, &v);
      default:
        return false;
    }
  }

 private:
  bool Take(uint64_t size, std::string_view* bytes) {
    if (size > rest_.size()) return false;
    *bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  std::string_view rest_;
};

bool ReadField(std::string_view bytes, BlobField* field) {
  WireReader reader(bytes);
  while (!reader.done()) {
    uint64_t tag = 0;
    uint64_t number = 0;
    std::string_view text;
    if (!reader.Varint(&tag)) return false;
    bool read = true;
    if (tag == kName) {
      read = reader.Delimited(&field->name);
    } else if (tag == kInt) {
      read = reader.Varint(&number);
      field->value = Value::Int(UnZigZag(number));
    } else if (tag == kFloat) {
      read = reader.Fixed(sizeof(double), &number) && std::isfinite(std::bit_cast<double>(number));
      if (read) field->value = Value::Double(std::bit_cast<double>(number));
    } else if (tag == kBool) {
      read = reader.Varint(&number);
      field->value = Value::Bool(number != 0);
    } else if (tag == kText || tag == kBytes) {
      read = reader.Delimited(&text);
      field->value = tag == kText ? Value::String(text) : Value::Bytes(text);
    } else {
      read = reader.Skip(tag);
    }
    if (!read) return false;
  }
  return true;
}

}  // namespace

void EncodeProtobuf(std::span<const BlobField> fields, std::string* out) {
  for (const BlobField& field : fields) {
    PutVarint(kField, out);
    PutVarint(DelimitedSize(field.name.size()) + ValueSize(field.value), out);
    PutDelimited(kName, field.name, out);
    PutValue(field.value, out);
  }
}

bool DecodeProtobuf(std::string_view blob, std::vector<BlobField>* fields) {
  WireReader reader(blob);
  while (!reader.done()) {
    uint64_t tag = 0;
    if (!reader.Varint(&tag)) return false;
    if (tag != kField) {
      if (!reader.Skip(tag)) return false;
      continue;
    }
    std::string_view bytes;
    BlobField field;
    if (!reader.Delimited(&bytes) || !ReadField(bytes, &field)) return false;
    fields->push_back(field);
  }
  return true;
}

}  // namespace tallyd
