// JudgeHead: what a head is that base calls sealed and that is there all the same, and whether it
// may be the only copy of what it has. A crash between the commit that sealed it and its removal
// leaves one; so does whoever puts one there that is another store's, or an older moment's.
//
// It may go where it is the one that was sealed, by base's note of it or by what block files say
// that they were made of, and the files that base names are there. Of a head that does not say of
// which store it is, as a tallyd from before format 9 left it, nothing more is known. One thread.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_STRAY_HEAD_H_
#define TALLYD_STORAGE_LEVELDB_FILES_STRAY_HEAD_H_

#include <leveldb/env.h>

#include <cstdint>
#include <string>

#include "config/values/result.h"
#include "storage/leveldb/files/stray_file.h"

namespace tallyd {

struct StrayHead {
  bool may_go = false;
  std::string reason;  // Why it may be the only copy.
};

// `path`: of the head, wherever it lies; nothing there is changed. `any_missing`: of the files that
// base names some are not there. An error: it cannot be read now, and may be anything.
Result<StrayHead> JudgeHead(leveldb::Env* env, const std::string& path, uint64_t number,
                            const FilesOnRecord& record, bool any_missing);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_STRAY_HEAD_H_
