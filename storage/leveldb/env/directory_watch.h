// DirectoryWatch: notices that a store's directory was removed, renamed or unmounted, or what lies
// in it was removed, while it is in use. The files that are open outlive that: what is written to
// them would be acknowledged, and gone. Thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_DIRECTORY_WATCH_H_
#define TALLYD_STORAGE_LEVELDB_ENV_DIRECTORY_WATCH_H_

#include <sys/types.h>

#include <chrono>
#include <mutex>
#include <string>

#include "config/values/result.h"

namespace tallyd {

class DirectoryWatch {
 public:
  // `witness`: the name of a file that is always in the directory while the store is open.
  DirectoryWatch(std::string directory, std::string witness);

  // From now on the directory that has this name is the right one. Before anybody asks.
  void Begin();
  // kUnavailable, saying what is gone, while it is. Looks at most every 100 ms.
  Status Check();

 private:
  Status Look() const;

  const std::string directory_;
  const std::string witness_;
  dev_t device_ = 0;
  ino_t inode_ = 0;  // 0: not begun.

  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_look_;  // Guarded by mutex_, like the next.
  Status last_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_DIRECTORY_WATCH_H_
