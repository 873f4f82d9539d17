// FileLock: keeps other processes, and others of this process, from opening a store.
//
//   leveldb::FileLock* lock = nullptr;
//   leveldb::Status taken = TakeFileLock(name, &lock);   // ReleaseFileLock(lock) gives it back.
//
// fcntl(2) keeps a lock by process, and drops it when any descriptor of the file is closed: so a
// lock that this process has is refused before its file is opened a second time. Thread-safe.
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
