#include "storage/leveldb/env/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace tallyd {
namespace {

// The polynomial with its bits reversed, as all of it is.
constexpr uint32_t kPolynomial = 0x82f63b78;

constexpr auto kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; ++bit) {
      table[byte] = table[byte] >> 1 ^ (table[byte] % 2 == 1 ? kPolynomial : 0);
    }
  }
  return table;
}();

constexpr uint32_t ExtendByTable(uint32_t crc, std::string_view bytes) {
  uint32_t sum = ~crc;
  for (const char byte : bytes) {
    sum = sum >> 8 ^ kTable[(sum ^ static_cast<uint8_t>(byte)) % kTable.size()];
  }
  return ~sum;
}

// The check value of CRC-32C.
static_assert(ExtendByTable(ExtendByTable(0, "1234"), "56789") == 0xe3069283);

#ifdef __x86_64__
__attribute__((target("sse4.2"))) uint32_t ExtendByInstruction(uint32_t crc,
                                                               std::string_view bytes) {
  uint64_t sum = ~crc;
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    uint64_t eight = 0;
    std::memcpy(&eight, bytes.data(), sizeof(eight));
    sum = __builtin_ia32_crc32di(sum, eight);
  }
  auto rest = static_cast<uint32_t>(sum);
  for (const char byte : bytes) {
    rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(byte));
  }
  return ~rest;
}
#endif

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, std::string_view bytes) {
#ifdef __x86_64__
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return ExtendByInstruction(crc, bytes);
#endif
  return ExtendByTable(crc, bytes);
}

}  // namespace tallyd

#ifdef __x86_64__
namespace leveldb::crc32c {

// In place of LevelDB's own: Debian builds it without the instruction. A linker takes the first
// definition that it meets, and so this one for a LevelDB that is an archive. Elsewhere LevelDB's
// tables are faster than the one here.
uint32_t Extend(uint32_t crc, const char* data, size_t count) {
  return tallyd::ExtendCrc32c(crc, {data, count});
}

}  // namespace leveldb::crc32c
#endif
