// The first bytes of a text as a number that sorts like them.
#ifndef TALLYD_STORAGE_BIG_ENDIAN_HEAD_H_
#define TALLYD_STORAGE_BIG_ENDIAN_HEAD_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tallyd {

// Of eight bytes; what is shorter has zeros behind. Without a buffer on the stack: its guard would
// be for all callers to check.
inline uint64_t BigEndianHead(std::string_view bytes) {
  uint64_t head = 0;
  if (bytes.size() >= sizeof head) [[likely]] {
    std::memcpy(&head, bytes.data(), sizeof head);
    return std::endian::native == std::endian::little ? __builtin_bswap64(head) : head;
  }
  for (size_t i = 0; i < sizeof head; ++i) {
    head = head << 8 | (i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0);
  }
  return head;
}

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIG_ENDIAN_HEAD_H_
