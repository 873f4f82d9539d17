// Which block files of a window to merge into one. A window's files come by ascending sequence, and
// what is chosen follows each other in it: of two writes to a cell the later must stay the later.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_MERGE_POLICY_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_MERGE_POLICY_H_

#include <cstdint>
#include <vector>

#include "storage/leveldb/files/block_file.h"

namespace tallyd {

// As time goes by: files of about one size, so that each sample is written again a few times only.
// Fewer than two: nothing.
std::vector<BlockFilePtr> ChooseMerge(const std::vector<BlockFilePtr>& window);
// All that there is up to a sequence, in pieces of a size that can be handled.
std::vector<BlockFilePtr> ChooseWholeMerge(const std::vector<BlockFilePtr>& window, uint64_t up_to);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_MERGE_POLICY_H_
