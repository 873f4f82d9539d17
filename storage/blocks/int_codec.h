// Integers of a column block (storage/FORMAT.md, Integers): plain, as differences, or as
// differences of differences, whichever takes the fewest bits, in groups of 128 that are bit-packed
// above the group's least value. Outliers of a group, such as the jump from one machine's counter
// to the next one's, are kept beside it, so that they do not widen the others (patched frame of
// reference: Zukowski et al., "Super-Scalar RAM-CPU Cache Compression", ICDE 2006).
// storage/blocks/int_reader.h reads them.
#ifndef TALLYD_STORAGE_BLOCKS_INT_CODEC_H_
#define TALLYD_STORAGE_BLOCKS_INT_CODEC_H_

#include <cstdint>
#include <span>
#include <string>

namespace tallyd {

void AppendInts(std::span<const int64_t> values, std::string* out);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_INT_CODEC_H_
