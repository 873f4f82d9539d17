// Reads the integers that storage/blocks/int_codec.h writes.
#ifndef TALLYD_STORAGE_BLOCKS_INT_READER_H_
#define TALLYD_STORAGE_BLOCKS_INT_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "config/values/integers.h"
#include "storage/bytes/coding.h"

namespace tallyd {

// Reads exactly values.size() integers. False if the bytes are malformed. `within`, if given:
// between which two all of them lie, perhaps wider than they do; told without a look at each.
bool ReadInts(ByteReader* in, std::span<int64_t> values, Extremes* within = nullptr);

// Integers that are evenly apart: first, first + step, ... (modulo 2^64).
struct EvenInts {
  int64_t first = 0;
  int64_t step = 0;
  uint32_t count = 0;
};

// The next `count` integers where they are a few such stretches, as regular times are. Otherwise
// false, and *in stays where it is: ReadInts tells whether they are malformed.
bool ReadEvenInts(ByteReader* in, size_t count, std::vector<EvenInts>* stretches);

struct EqualInts {
  int64_t value = 0;
  uint32_t count = 0;
};

// The next `count` integers where they are at most `most` stretches of equal ones, which are then
// told without a look at each. Otherwise as ReadEvenInts.
bool ReadEqualInts(ByteReader* in, size_t count, size_t most, std::vector<EqualInts>* stretches);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_INT_READER_H_
