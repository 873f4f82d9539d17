// The building blocks of storage/FORMAT.md: fixed-width big-endian numbers, varints, zigzag,
// strings, values; a growing buffer to write them to and a bounds-checked reader. Every Get* tells
// whether it found what it sought; it never reads past the end. In the header, because both
// directions are the inner loop of ingest and of every scan.
#ifndef TALLYD_STORAGE_BYTES_CODING_H_
#define TALLYD_STORAGE_BYTES_CODING_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "config/values/processor.h"
#include "config/values/value.h"

namespace tallyd {

inline constexpr size_t kMaxVarintBytes = 10;

inline uint64_t ZigZag(int64_t n) {
  return (static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63);
}
inline int64_t UnZigZag(uint64_t n) {
  return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1);
}

inline char* EncodeU32(char* to, uint32_t v) {
  if constexpr (std::endian::native == std::endian::little) v = __builtin_bswap32(v);
  std::memcpy(to, &v, sizeof v);
  return to + sizeof v;
}
inline char* EncodeU64(char* to, uint64_t v) {
  if constexpr (std::endian::native == std::endian::little) v = __builtin_bswap64(v);
  std::memcpy(to, &v, sizeof v);
  return to + sizeof v;
}
inline uint32_t DecodeU32(const char* from) {
  uint32_t v;
  std::memcpy(&v, from, sizeof v);
  if constexpr (std::endian::native == std::endian::little) v = __builtin_bswap32(v);
  return v;
}
inline uint64_t DecodeU64(const char* from) {
  uint64_t v;
  std::memcpy(&v, from, sizeof v);
  if constexpr (std::endian::native == std::endian::little) v = __builtin_bswap64(v);
  return v;
}
// How many bytes at the beginning are the same, of which `known` are; a look at the rest, eight at
// a time. REQUIRES: both have `known`.
inline size_t CommonBytes(std::string_view a, std::string_view b, size_t known = 0) {
  const size_t most = std::min(a.size(), b.size());
  size_t common = known;
  for (; common + sizeof(uint64_t) <= most; common += sizeof(uint64_t)) {
    const uint64_t differing = DecodeU64(a.data() + common) ^ DecodeU64(b.data() + common);
    if (differing != 0) return common + static_cast<size_t>(std::countl_zero(differing)) / 8;
  }
  while (common < most && a[common] == b[common]) ++common;
  return common;
}
// Varints of up to 56 bits are spread to their bytes, and gathered again, without a loop: numbers
// of several lengths, one after the other, would have it mispredicted. By an instruction (PDEP,
// PEXT) where that is fast, else in steps of 28, 14 and 7 bits.
inline constexpr uint64_t kMaxWordVarint = (uint64_t{1} << 56) - 1;
inline constexpr uint64_t kGoesOn = 0x8080'8080'8080'8080;

inline uint64_t SpreadBySteps(uint64_t v) {
  v = (v & 0x0000'0000'0fff'ffff) | (v & 0x00ff'ffff'f000'0000) << 4;
  v = (v & 0x0000'3fff'0000'3fff) | (v & 0x0fff'c000'0fff'c000) << 2;
  return (v & 0x007f'007f'007f'007f) | (v & 0x3f80'3f80'3f80'3f80) << 1;
}
inline uint64_t GatherBySteps(uint64_t v) {
  v = (v & 0x007f'007f'007f'007f) | (v & 0x7f00'7f00'7f00'7f00) >> 1;
  v = (v & 0x0000'3fff'0000'3fff) | (v & 0x3fff'0000'3fff'0000) >> 2;
  return (v & 0x0000'0000'0fff'ffff) | (v & 0x0fff'ffff'0000'0000) >> 4;
}
inline uint64_t SpreadVarint(uint64_t v) {
  if (kMovesBits) [[likely]]
    return MoveBitsApart(v, ~kGoesOn);
  return SpreadBySteps(v);
}
// The bits that tell whether it goes on are ignored.
inline uint64_t GatherVarint(uint64_t v) {
  if (kMovesBits) [[likely]]
    return MoveBitsTogether(v, ~kGoesOn);
  return GatherBySteps(v);
}

// Of numbers of up to 56 bits it is ceil(bits / 7), without a division.
inline size_t VarintSize(uint64_t v) {
  return v <= kMaxWordVarint ? static_cast<unsigned>(std::bit_width(v | 1) * 9 + 64) / 64
                             : static_cast<unsigned>(std::bit_width(v) + 6) / 7;
}

// REQUIRES: kMaxVarintBytes of room, which it may use whatever the length.
inline char* EncodeVarint(char* to, uint64_t v) {
  if constexpr (std::endian::native == std::endian::little) {
    if (v <= kMaxWordVarint) {
      const size_t bytes = VarintSize(v);
      const uint64_t before_last = (uint64_t{1} << (8 * (bytes - 1))) - 1;
      v = SpreadVarint(v) | (kGoesOn & before_last);
      std::memcpy(to, &v, sizeof v);
      return to + bytes;
    }
  }
  while (v >= 0x80) {
    *to++ = static_cast<char>(v | 0x80);
    v >>= 7;
  }
  *to++ = static_cast<char>(v);
  return to;
}

inline void PutU32(std::string* out, uint32_t v) {
  char bytes[sizeof v];
  EncodeU32(bytes, v);
  out->append(bytes, sizeof bytes);
}
inline void PutU64(std::string* out, uint64_t v) {
  char bytes[sizeof v];
  EncodeU64(bytes, v);
  out->append(bytes, sizeof bytes);
}
inline void PutVarint(std::string* out, uint64_t v) {
  char bytes[kMaxVarintBytes];
  out->append(bytes, static_cast<size_t>(EncodeVarint(bytes, v) - bytes));
}
inline void PutString(std::string* out, std::string_view s) {
  PutVarint(out, s.size());
  out->append(s);
}

// Of fewer than eight bytes a word as of eight, the first one lowest; those that are not there have
// all bits, as the last byte of no varint has.
uint64_t LoadShortWord(const char* from, size_t bytes);

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  size_t left() const { return static_cast<size_t>(end_ - at_); }
  bool done() const { return at_ == end_; }
  std::string_view rest() const { return {at_, left()}; }

  bool GetByte(uint8_t* v) {
    if (done()) return false;
    *v = static_cast<uint8_t>(*at_++);
    return true;
  }
  bool GetVarint(uint64_t* v) {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) {
      *v = static_cast<uint8_t>(*at_++);
      return true;
    }
    return GetLongVarint(v);
  }
  // Of the varint there, told without a branch on it; 0: it is none, or cannot be told at once.
  size_t VarintBytes() const {
    if constexpr (std::endian::native == std::endian::little) {
      const uint64_t last = ~LoadWord() & kGoesOn;
      if (last != 0) return static_cast<size_t>(std::countr_zero(last)) / 8 + 1;
    }
    return 0;
  }
  // REQUIRES: so many are left.
  void Skip(size_t bytes) { at_ += bytes; }
  // Where `other` is. REQUIRES: that reads the same.
  void ContinueAt(const ByteReader& other) { at_ = other.at_; }
  // A varint of at most `max`.
  template <class T>
  bool GetNumber(T* v, uint64_t max) {
    uint64_t wide = 0;
    if (!GetVarint(&wide) || wide > max) return false;
    *v = static_cast<T>(wide);
    return true;
  }
  bool GetU32(uint32_t* v) {
    if (left() < sizeof *v) return false;
    *v = DecodeU32(at_);
    at_ += sizeof *v;
    return true;
  }
  bool GetU64(uint64_t* v) {
    if (left() < sizeof *v) return false;
    *v = DecodeU64(at_);
    at_ += sizeof *v;
    return true;
  }
  bool GetBytes(uint64_t size, std::string_view* v) {
    if (left() < size) return false;
    *v = {at_, static_cast<size_t>(size)};
    at_ += size;
    return true;
  }
  bool GetString(std::string_view* v) {
    uint64_t size = 0;
    return GetVarint(&size) && GetBytes(size, v);
  }

 private:
  uint64_t LoadWord() const {
    if (left() < sizeof(uint64_t)) return LoadShortWord(at_, left());
    uint64_t word;
    std::memcpy(&word, at_, sizeof word);
    return word;
  }
  bool GetLongVarint(uint64_t* v) {
    if constexpr (std::endian::native == std::endian::little) {
      const uint64_t word = LoadWord();
      const uint64_t last = ~word & kGoesOn;
      if (last != 0) [[likely]] {
        *v = GatherVarint(word & (last ^ (last - 1)));
        at_ += std::countr_zero(last) / 8 + 1;
        return true;
      }
    }
    // Copies, so that nobody has the address of what is read with: that can stay in registers.
    ByteReader in = *this;
    uint64_t read = 0;
    if (!in.GetVarintByBytes(&read)) return false;
    ContinueAt(in);
    *v = read;
    return true;
  }
  bool GetVarintByBytes(uint64_t* v);

  const char* at_;
  const char* end_;
};

// Bytes that grow at the end, without the zero-filling of std::string::resize.
class ByteBuffer {
 public:
  // Room for `extra` bytes after the end; write there, then Finish at the last byte written.
  char* Reserve(size_t extra) {
    if (capacity_ - size_ < extra) Grow(extra);
    return bytes_.get() + size_;
  }
  void Finish(const char* end) { size_ = static_cast<size_t>(end - bytes_.get()); }

  void Append(std::string_view s) {
    if (s.empty()) return;
    std::memcpy(Reserve(s.size()), s.data(), s.size());
    size_ += s.size();
  }
  void Truncate(size_t size) { size_ = size; }
  char* data() { return bytes_.get(); }
  const char* data() const { return bytes_.get(); }
  size_t size() const { return size_; }
  std::string_view View(size_t offset, size_t size) const { return {bytes_.get() + offset, size}; }

 private:
  void Grow(size_t extra) {
    const size_t wanted = std::max(size_ + extra, std::max<size_t>(4096, capacity_ * 2));
    std::unique_ptr<char[]> bytes(new char[wanted]);
    if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
    bytes_ = std::move(bytes);
    capacity_ = wanted;
  }

  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// One value as stored (storage/FORMAT.md, Values): exact to the bit and the type.
// DO NOT CHANGE THESE VALUES: they are stored. Kinds from kDecimal on are kDecimal + scale.
inline constexpr unsigned kKindBits = 4;
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
// 1 where a value that begins with this byte is a number of one varint, else 0.
inline uint32_t IsShortNumber(uint8_t first) {
  constexpr uint32_t kShortKinds = ~uint32_t{0} << kKindDecimal | uint32_t{1} << kKindInt;
  return kShortKinds >> (first & ((1u << kKindBits) - 1)) & 1;
}
// A value that is absent is this byte, and no other value begins with it.
inline constexpr char kAbsentValue = kKindAbsent;
inline bool IsAbsent(const char* value) { return *value == kAbsentValue; }
inline constexpr uint8_t kMaxStoredScale = 7;
inline constexpr int64_t kMaxShortInt = (int64_t{1} << 59) - 1;

// The most bytes that a value takes, and one that is no text.
inline constexpr size_t kMaxNumberBytes = kMaxVarintBytes + 1;
inline size_t MaxValueBytes(const Value& value) { return kMaxNumberBytes + value.text_size(); }

// REQUIRES, all: MaxValueBytes of room.
char* EncodeOtherValue(char* to, const Value& value);  // Neither a short number nor text.
inline char* EncodeTextValue(char* to, const Value& value) {
  const std::string_view text = value.AsView();
  const uint64_t kind = value.type() == ValueType::kString ? kKindString : kKindBytes;
  to = EncodeVarint(to, static_cast<uint64_t>(text.size()) << kKindBits | kind);
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  return to + text.size();
}
inline char* EncodeValue(char* to, const Value& value) {
  // No branch on which of these it is: whether one is absent is often chance. What is absent has
  // the bits of 0; only a float has a scale.
  static_assert(static_cast<int>(ValueType::kNull) == 0 &&
                static_cast<int>(ValueType::kInt64) == 1 &&
                static_cast<int>(ValueType::kFloat64) == 2);
  const auto type = static_cast<unsigned>(value.type());
  const unsigned scale = value.scale() & (0u - (type >> 1));
  if (value.type() <= ValueType::kFloat64 && scale <= kMaxStoredScale) [[likely]] {
    constexpr unsigned kKinds = kKindAbsent | kKindInt << 8 | kKindDecimal << 16;  // By type.
    const uint64_t kind = (kKinds >> 8 * type & 0xff) + scale;
    const int64_t n = value.bits();
    if (n >= -kMaxShortInt && n <= kMaxShortInt) {
      return EncodeVarint(to, ZigZag(n) << kKindBits | kind);
    }
  }
  if (value.type() >= ValueType::kString) return EncodeTextValue(to, value);
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
  // Copies, as in GetLongVarint.
  ByteReader rest = *in;
  Value other;
  if (!DecodeLongValue(&rest, static_cast<ValueKind>(kind), payload, &other)) return false;
  in->ContinueAt(rest);
  *value = other;
  return true;
}

// Whether one is absent is often chance, so no branch depends on it.
inline bool SkipValue(ByteReader* in) {
  if (const size_t bytes = in->VarintBytes(); bytes > 0) [[likely]] {
    const auto first = static_cast<uint8_t>(in->rest().front());
    if ((IsShortNumber(first) | uint32_t{first == kAbsentValue}) != 0) [[likely]] {
      in->Skip(bytes);
      return true;
    }
  }
  uint64_t header = 0;
  if (!in->GetVarint(&header)) return false;
  const auto kind = static_cast<uint8_t>(header & ((1u << kKindBits) - 1));
  if (kind >= kKindDecimal || kind == kKindInt) return true;
  return SkipLongValue(in, static_cast<ValueKind>(kind), header >> kKindBits);
}

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BYTES_CODING_H_
