// DurableEnv: the file system as LevelDB should see it. Beyond leveldb::Env::Default():
// - names are as durable as data: the directory is synced after a log is created, after a rename,
//   and before an old log or manifest is removed (RELIABILITY.md, finding 7);
// - a log that is closed is synced first, so a synced write vouches for every write before it, also
//   across a change of logs; a failure of that sync fails the next Sync of the new log, until the
//   database is opened anew;
// - a file whose write failed takes no further bytes: its state is unknown until it is reopened;
// - reads are pread, never mmap: a failing disk is an error, not a SIGBUS (finding 8);
// - files are 0600, directories 0700;
// - background work has a thread of its own; fsyncs and stalls are told to an observer.
// Thread-safe. Outlives every database opened with it.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_DURABLE_ENV_H_
#define TALLYD_STORAGE_LEVELDB_ENV_DURABLE_ENV_H_

#include <leveldb/env.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tallyd {

struct EnvObserver {
  std::function<void(double)> on_sync;  // Every fsync, with the seconds it took.
  // LevelDB holds a write up, because compaction does not keep up: for a millisecond, or until a
  // table is written.
  std::function<void()> on_stall;
};

class DurableEnv final : public leveldb::EnvWrapper {
 public:
  explicit DurableEnv(EnvObserver observer);
  ~DurableEnv() override;

  leveldb::Status NewRandomAccessFile(const std::string& name,
                                      leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;
  leveldb::Status NewAppendableFile(const std::string& name, leveldb::WritableFile** file) override;
  leveldb::Status CreateDir(const std::string& name) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  leveldb::Status LockFile(const std::string& name, leveldb::FileLock** lock) override;
  leveldb::Status NewLogger(const std::string& name, leveldb::Logger** logger) override;
  void SleepForMicroseconds(int micros) override;
  void Schedule(void (*work)(void*), void* argument) override;

 private:
  class File;
  class StallLogger;

  leveldb::Status SyncDescriptor(int descriptor, const std::string& name);
  leveldb::Status SyncDirectoryOf(const std::string& name);
  void RunBackground();

  const EnvObserver observer_;
  std::atomic<bool> log_close_failed_{false};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<void (*)(void*), void*>> work_;  // Guarded by mutex_.
  bool stopping_ = false;                               // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_DURABLE_ENV_H_
