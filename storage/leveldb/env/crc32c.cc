// In place of LevelDB's: Debian builds it without a CRC-32C that uses the processor's instruction,
// and its tables took 2 % of all CPU, in the committer, which nobody can help. A linker takes the
// first definition that it meets, so a LevelDB that is linked as an archive uses this one; one that
// is a shared library keeps its own, which gives the same. On processors other than x86-64 nothing
// is defined here.
#include "storage/leveldb/env/crc32c.h"

#ifdef __x86_64__

#include <array>
#include <cstring>
#include <string_view>

namespace leveldb::crc32c {
namespace {

__attribute__((target("sse4.2"))) uint32_t ExtendByInstruction(uint32_t crc, const char* data,
                                                               size_t count) {
  uint64_t sum = ~crc;
  for (; count >= sizeof(uint64_t); data += sizeof(uint64_t), count -= sizeof(uint64_t)) {
    uint64_t eight = 0;
    std::memcpy(&eight, data, sizeof(eight));
    sum = __builtin_ia32_crc32di(sum, eight);
  }
  auto rest = static_cast<uint32_t>(sum);
  for (; count > 0; ++data, --count) {
    rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(*data));
  }
  return ~rest;
}

// The polynomial with its bits reversed, as all of it is.
constexpr uint32_t kPolynomial = 0x82f63b78;

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; ++bit) {
      table[byte] = table[byte] >> 1 ^ (table[byte] % 2 == 1 ? kPolynomial : 0);
    }
  }
  return table;
}

constexpr uint32_t ExtendByTable(uint32_t crc, const char* data, size_t count) {
  constexpr std::array<uint32_t, 256> kTable = MakeTable();
  uint32_t sum = ~crc;
  for (const char byte : std::string_view(data, count)) {
    sum = sum >> 8 ^ kTable[(sum ^ static_cast<uint8_t>(byte)) % kTable.size()];
  }
  return ~sum;
}

// The check value of CRC-32C.
static_assert(ExtendByTable(0, "123456789", 9) == 0xe3069283);

}  // namespace

uint32_t Extend(uint32_t crc, const char* data, size_t count) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  return has_instruction ? ExtendByInstruction(crc, data, count) : ExtendByTable(crc, data, count);
}

}  // namespace leveldb::crc32c

#endif  // __x86_64__
