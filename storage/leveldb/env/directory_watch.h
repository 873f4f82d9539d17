// DirectoryWatch: notices that a store's directory was removed, renamed or unmounted, or what lies
// in it was removed or moved aside, while it is in use. The files that are open outlive that: what
// is written to them would be acknowledged, and gone. Thread-safe.
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
  // `witness`: the name of a file that is always in the directory while the store is open;
  // `lock`: of one that stays the same from one opening to the next.
  DirectoryWatch(std::string directory, std::string witness, std::string lock);

  // From now on the directory that has this name is the right one. Before anybody asks.
  void Begin();
  // The same of what lies in it, which was opened just now.
  void BeginContent();
  // Both look at most every 100 ms, and say what is gone, as kUnavailable, while it is.
  Status Check();
  // And whether what lies there is what was opened. Where it is not, only another opening tells
  // what it is.
  Status CheckContent();

 private:
  struct FileId {
    dev_t device = 0;
    ino_t inode = 0;  // 0: none.
    friend bool operator==(const FileId&, const FileId&) = default;
  };
  static FileId IdOf(const std::string& name);
  void LookAgain();
  Status Look() const;
  Status LookAtContent() const;

  const std::string directory_;
  const std::string witness_;
  const std::string lock_;

  std::mutex mutex_;
  // What follows is guarded by mutex_.
  FileId opened_directory_;  // None: not begun.
  FileId opened_lock_;       // None: nobody knows.
  std::chrono::steady_clock::time_point next_look_;
  Status last_;
  Status last_of_content_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_DIRECTORY_WATCH_H_
