// KeyCode: what a key has beyond one that comes before it, as a number, so that ordered sequences
// are merged without a look at most of their keys. Of two keys that are coded against the same
// smaller one, and whose codes differ, that with the smaller code comes first, and the greater
// key's code is its code against the other, too. So a merge knows each key by its code against the
// last one that it gave, and compares keys of the same code only, behind what the code says.
// (Offset-value coding: Conner, IBM Technical Disclosure Bulletin 20 (7), 1977; Do and Graefe,
// "Robust and efficient sorting with offset-value coding", 2022.)
//
// A key is taken as words of kCodedBytes bytes, zeros behind it. The upper bits of a code are
// kMostCommon less the number of words that both keys begin with; the lower ones are the key's next
// word. REQUIRES: no key is the beginning of another (storage/FORMAT.md, Rows).
#ifndef TALLYD_STORAGE_LEVELDB_FILES_KEY_CODE_H_
#define TALLYD_STORAGE_LEVELDB_FILES_KEY_CODE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "storage/big_endian_head.h"
#include "storage/bytes/coding.h"

namespace tallyd {

using KeyCode = uint64_t;

inline constexpr size_t kCodedBytes = 6;
inline constexpr unsigned kCodedBits = 8 * kCodedBytes;
// Words in common that are counted, at most: no row key has so many.
inline constexpr size_t kMostCommon = (size_t{1} << (64 - kCodedBits)) - 2;
// Comes after the code of every key.
inline constexpr KeyCode kNoKey = UINT64_MAX;

// The code of a key against one that has the first `common` bytes in common with it.
inline KeyCode CodeBehind(std::string_view key, size_t common) {
  const size_t same = std::min(common / kCodedBytes, kMostCommon);
  const size_t offset = std::min(same * kCodedBytes, key.size());
  return uint64_t{kMostCommon - same} << kCodedBits |
         BigEndianHead(key.substr(offset)) >> (64 - kCodedBits);
}

// How many of its first bytes a key has in common with the one it is coded against, at least.
inline size_t CommonByCode(KeyCode code) {
  return (kMostCommon - (code >> kCodedBits)) * kCodedBytes;
}

// Where two keys of the same code are to be compared.
inline size_t EndOfCode(KeyCode code) { return CommonByCode(code) + kCodedBytes; }

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_KEY_CODE_H_
