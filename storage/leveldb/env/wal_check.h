// WalCheck: before the database is opened, tells the harmless end of a log from damage in its
// middle (RELIABILITY.md, finding 3).
//
// Writes are synced one at a time, so a crash can leave at most one record in part, the last of the
// newest log, and it was never acknowledged: such a tail is cut off and kept beside as
// NNNNNN.log.torn-N, with a warning. Anything else (records after the damage, an older log that
// does not reach to where the newer begins) is lost data: opening is refused, naming file and
// bytes. Nothing is ever repaired or deleted.
//
// REQUIRES: the caller holds the database's lock.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_WAL_CHECK_H_
#define TALLYD_STORAGE_LEVELDB_ENV_WAL_CHECK_H_

#include <leveldb/env.h>

#include <string>

#include "config/config.h"
#include "config/result.h"

namespace tallyd {

Status CheckWriteAheadLogs(leveldb::Env* env, const std::string& directory, Sync sync);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_WAL_CHECK_H_
