// FileLock: keeps other processes, and others of this process, from opening a store.
//
//   leveldb::FileLock* lock = nullptr;
//   leveldb::Status taken = TakeFileLock(name, &lock);   // ReleaseFileLock(lock) gives it back.
//
// The lock is that of an open file description (F_OFD_SETLK), which is refused to whoever opens the
// file again: also to this process, and whatever the file is called then (a link, another mount of
// its directory). To close another descriptor of the file does not drop it. Thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_FILE_LOCK_H_
#define TALLYD_STORAGE_LEVELDB_ENV_FILE_LOCK_H_

#include <leveldb/env.h>

#include <string>

namespace tallyd {

// The file is made if it is not there. Where another one has the lock the status says "lock", as
// FromLevelDb (status.h) expects of a conflict; whatever else fails does not.
leveldb::Status TakeFileLock(const std::string& name, leveldb::FileLock** lock);
// `lock` is gone in any case.
leveldb::Status ReleaseFileLock(leveldb::FileLock* lock);
// Of a lock that TakeFileLock gave.
const std::string& NameOfLock(const leveldb::FileLock& lock);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_FILE_LOCK_H_
