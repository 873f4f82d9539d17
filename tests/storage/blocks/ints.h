// Integers for tests of their codec and its reader.
#ifndef TALLYD_TESTS_STORAGE_BLOCKS_INTS_H_
#define TALLYD_TESTS_STORAGE_BLOCKS_INTS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "storage/blocks/int_codec.h"

namespace tallyd {

using Ints = std::vector<int64_t>;

inline constexpr int64_t kLeastInt = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kMostInt = std::numeric_limits<int64_t>::max();

inline std::string EncodeIntsOf(const Ints& values) {
  std::string bytes;
  AppendInts(values, &bytes);
  return bytes;
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_BLOCKS_INTS_H_
