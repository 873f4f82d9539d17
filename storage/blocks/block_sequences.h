// The sequences of a block's entries on their way into it (storage/FORMAT.md, Blocks).
#ifndef TALLYD_STORAGE_BLOCKS_BLOCK_SEQUENCES_H_
#define TALLYD_STORAGE_BLOCKS_BLOCK_SEQUENCES_H_

#include <cstdint>
#include <span>
#include <string>

namespace tallyd {

// Few differ in a block, each that of a sealed head: entries have their places in a list of them.
void AppendSequences(std::span<const uint64_t> sequences, std::string* out);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_BLOCK_SEQUENCES_H_
