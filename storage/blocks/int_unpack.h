// Integers that were packed side by side, some bits each (storage/FORMAT.md, Block files), back to
// 64 bits. With AVX2, told when it runs, narrow differences are added up sixteen at a time;
// everywhere the same integers.
//
// Pure functions, thread-safe.
#ifndef TALLYD_STORAGE_BLOCKS_INT_UNPACK_H_
#define TALLYD_STORAGE_BLOCKS_INT_UNPACK_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace tallyd {

// REQUIRES of what is packed: so many readable bytes follow it, whatever they are.
inline constexpr size_t kUnpackReadsBeyond = 16;
// Wider ones are not added up here.
inline constexpr unsigned kMaxSummedWidth = 56;

// Each integer is `base` and as much more as its bits say.
struct PackedInts {
  const char* bytes = nullptr;
  unsigned width = 0;  // In bits. REQUIRES: at most kMaxIntWidth.
  uint64_t base = 0;
};

void UnpackInts(const PackedInts& packed, std::span<int64_t> to);

// A whole group (kIntGroup) of integers, each added to *last, which becomes that sum and is put
// out. REQUIRES: at most kMaxSummedWidth bits each.
void UnpackSums(const PackedInts& packed, uint64_t* last, int64_t* to);
// The same, as it goes without AVX2.
void UnpackSumsPlainly(const PackedInts& packed, uint64_t* last, int64_t* to);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_INT_UNPACK_H_
