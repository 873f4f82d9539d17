#include "storage/leveldb/env/crc32c.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

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
// x to that power modulo the polynomial.
constexpr uint32_t PowerOfX(size_t power) {
  uint32_t rest = 1u << 31;
  for (; power > 0; --power) rest = rest >> 1 ^ (rest % 2 == 1 ? kPolynomial : 0);
  return rest;
}

__attribute__((target("sse4.2"))) inline uint64_t AddEight(uint64_t sum, const char* bytes) {
  uint64_t eight = 0;
  std::memcpy(&eight, bytes, sizeof(eight));
  return __builtin_ia32_crc32di(sum, eight);
}

// What a sum becomes with so many zero bytes behind it: its product with a power of x, which the
// instruction takes modulo the polynomial, times x to the 33rd.
template <size_t kZeros>
__attribute__((target("sse4.2,pclmul"))) inline uint64_t AddZeros(uint64_t sum) {
  constexpr uint32_t kPower = PowerOfX(8 * kZeros - 33);
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(sum)),
                                               _mm_cvtsi64_si128(int64_t{kPower}), 0);
  return __builtin_ia32_crc32di(0, static_cast<uint64_t>(_mm_cvtsi128_si64(product)));
}

// Three pieces side by side, as many as there are: an instruction may begin before the last one's
// sum is there. (Gopal and others, "Fast CRC Computation for iSCSI Polynomial Using CRC32
// Instruction", Intel 2011.)
template <size_t kPiece>
__attribute__((target("sse4.2,pclmul"))) inline uint64_t AddThrice(uint64_t sum,
                                                                   std::string_view* bytes) {
  for (; bytes->size() >= 3 * kPiece; bytes->remove_prefix(3 * kPiece)) {
    const char* const at = bytes->data();
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kPiece; i += sizeof(uint64_t)) {
      sum = AddEight(sum, at + i);
      second = AddEight(second, at + kPiece + i);
      third = AddEight(third, at + 2 * kPiece + i);
    }
    sum = AddZeros<2 * kPiece>(sum) ^ AddZeros<kPiece>(second) ^ third;
  }
  return sum;
}

// What is left of the bytes is less than three small pieces.
__attribute__((target("sse4.2,pclmul"))) uint32_t ExtendByPieces(uint32_t crc,
                                                                 std::string_view* bytes) {
  uint64_t sum = ~crc;
  sum = AddThrice<1024>(sum, bytes);
  sum = AddThrice<128>(sum, bytes);
  return ~static_cast<uint32_t>(sum);
}

__attribute__((target("sse4.2"))) uint32_t ExtendByInstruction(uint32_t crc,
                                                               std::string_view bytes) {
  uint64_t sum = ~crc;
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    sum = AddEight(sum, bytes.data());
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
  static const bool has_product = has_instruction && __builtin_cpu_supports("pclmul");
  if (has_product) crc = ExtendByPieces(crc, &bytes);
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
