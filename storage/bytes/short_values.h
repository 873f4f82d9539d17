// ShortValues: where each value of an entry by set is (storage/FORMAT.md, Values), if all are
// numbers of at most eight bytes, or absent, as they mostly are. Told by the bytes that end a
// varint, eight at a time: a walk from value to value waits for each before it finds the next. To
// be kept from entry to entry. One thread.
#ifndef TALLYD_STORAGE_BYTES_SHORT_VALUES_H_
#define TALLYD_STORAGE_BYTES_SHORT_VALUES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "storage/bytes/coding.h"

namespace tallyd {

class ShortValues {
 public:
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostBytes = sizeof(uint64_t);  // Of a value.

  // False: it cannot be told so. There are not so many values, or some are others, or malformed.
  bool Find(std::string_view values, size_t count) {
    if constexpr (std::endian::native != std::endian::little) return false;
    if (count == 0 || count > kMost || values.size() > kMost * kMostBytes) return false;
    size_t found = 0;
    begins_[0] = 0;
    for (size_t at = 0; at < values.size(); at += kChunk) {
      uint64_t ends = EndsIn(values.substr(at));
      for (; ends != 0; ends &= ends - 1) {
        begins_[++found] =
            static_cast<uint16_t>(at + static_cast<size_t>(std::countr_zero(ends)) + 1);
      }
    }
    if (found != count || begins_[found] != values.size()) return false;
    uint32_t alike = 1;
    there_ = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto first = static_cast<uint8_t>(values[begins_[i]]);
      const uint32_t is_absent = first == kAbsentValue ? 1 : 0;
      const uint32_t is_short = begin(i + 1) - begin(i) <= kMostBytes ? 1 : 0;
      alike &= (is_absent | IsShortNumber(first)) & is_short;
      there_ |= uint64_t{is_absent ^ 1} << i;
    }
    return alike != 0;
  }

  // Of the last that were found. Bit i: the i-th value is not absent.
  uint64_t there() const { return there_; }
  // Where the i-th value begins; of one behind the last, where that one ends.
  size_t begin(size_t i) const { return begins_[i]; }

 private:
  static constexpr size_t kChunk = 64;

  // Bit i: the i-th byte is the last of a varint.
  static uint64_t EndsIn(std::string_view bytes) {
    uint64_t ends = 0;
    for (size_t at = 0; at < kChunk && at < bytes.size(); at += sizeof(uint64_t)) {
      const size_t left = bytes.size() - at;
      uint64_t word;
      if (left >= sizeof word) {
        std::memcpy(&word, bytes.data() + at, sizeof word);
      } else {
        word = LoadShortWord(bytes.data() + at, left);
      }
      // The highest bit of each byte, all to the highest byte.
      constexpr uint64_t kGather = 0x0102'0408'1020'4080;
      ends |= ((~word & kGoesOn) >> 7) * kGather >> 56 << at;
    }
    return ends;
  }

  uint64_t there_ = 0;
  std::array<uint16_t, kMost * kMostBytes + 1> begins_{};
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BYTES_SHORT_VALUES_H_
