// WalCheck: before a LevelDB is opened, tells the harmless end of its log or manifest from damage,
// which LevelDB itself passes over in silence, by what SYNCED says that an fsync has covered
// (marked_env.h).
//
// What is not whole below that is lost data: opening is refused, naming file and byte. Behind it a
// crash can leave one record in part, the last of the newest log, which was never acknowledged:
// such a tail is told of, cut off where LevelDB would stumble over it, and kept beside as
// NNNNNN.log.torn-N. Refused is also what no crash leaves: records after damage, an older log that
// does not reach to where the newer begins, a log or a manifest that should be there and is not.
// The check changes nothing; nothing is ever repaired.
//
// REQUIRES: nobody else opens the directory.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_WAL_CHECK_H_
#define TALLYD_STORAGE_LEVELDB_ENV_WAL_CHECK_H_

#include <leveldb/env.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"

namespace tallyd {

// What every refusal for damage ends with.
inline constexpr std::string_view kDamageAdvice =
    "No data was changed. Restore the directory from a backup, or copy what can still be read of "
    "it with `tallyd salvage`";

// The end of a file that was never acknowledged.
struct TornTail {
  std::string file;
  uint64_t begin = 0;  // Where it starts.
  uint64_t bytes = 0;
  bool must_be_cut = false;  // LevelDB does not take it for the end by itself.
};

struct WalCheck {
  bool exists = false;    // There is a LevelDB, complete or not.
  bool has_data = false;  // Something was committed to it.
  std::vector<TornTail> tails;
};

// Of a directory that need not be there. kCorruption says what is damaged.
Result<WalCheck> CheckWriteAheadLogs(leveldb::Env* env, const std::string& directory, Sync sync);

// At every moment either the whole file or the cut one is there under its name.
Status CutTail(leveldb::Env* env, const TornTail& tail);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_WAL_CHECK_H_
