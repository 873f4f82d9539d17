// CountHidden: how many entries of a block file a delete hides. Its index tells of most blocks;
// where that leaves it open whether there is any, as at the ends of a range of rows, the block's
// keys, times and columns are looked at, never its values. Neither file nor delete changes, so that
// the answer holds for as long as there are both.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_HIDDEN_ENTRIES_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_HIDDEN_ENTRIES_H_

#include <cstdint>
#include <functional>

#include "config/values/result.h"
#include "storage/leveldb/catalogue/delete_range.h"
#include "storage/leveldb/files/block_file.h"

namespace tallyd {

// At most so many; none is certain. `look` is called before each block that is read, and ends it by
// its error. Other errors are the file's, and name it.
Result<uint64_t> CountHidden(const BlockFile& file, const DeleteRange& deleted,
                             const std::function<Status()>& look);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_HIDDEN_ENTRIES_H_
