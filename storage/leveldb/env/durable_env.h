// StoreEnv: what the store needs of a file system beyond leveldb::Env.
//
// DurableEnv: the file system as LevelDB should see it. Beyond leveldb::Env::Default():
// - names are as durable as data: the directory is synced after a log is created, after a rename,
//   before a manifest gets a byte that may name a new file, and before an old log or manifest is
//   removed. The directory of a database is held open while its LOCK is: no lack of descriptors
//   keeps it from being synced;
// - what was done is told as done: a rename whose directory could not be synced afterwards, or that
//   is said to have failed and was made, is OK. For LevelDB removes the manifest of a rename that
//   failed, which CURRENT would name. SyncDirectory tells instead (below);
// - a directory that could not be synced vouches for nothing more: where a database has it locked,
//   every later SyncDirectory of it, and Sync of a log or manifest in it, fails until the database
//   is opened anew; elsewhere the next SyncDirectory does;
// - the manifest that CURRENT names is not removed;
// - logs are those of log_file.h. Where one could not be synced when it was closed, every later
//   Sync of a log in its directory fails, until the database there is opened anew: so a synced
//   write vouches for every write before it, also across a change of logs;
// - a file whose write failed takes no further bytes: its state is unknown until it is reopened;
// - reads are those of pread_file.h; a directory that cannot be read to its end is an error, and a
//   file is absent only where the system says so: one that nobody can tell of exists;
// - files are 0600, directories 0700;
// - background work has a thread of its own; fsyncs and stalls are told to an observer.
// Thread-safe. Outlives every database opened with it.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_DURABLE_ENV_H_
#define TALLYD_STORAGE_LEVELDB_ENV_DURABLE_ENV_H_

#include <leveldb/env.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "storage/leveldb/env/log_file.h"

namespace tallyd {

struct EnvObserver {
  std::function<void(double)> on_sync;  // Every fsync, with the seconds it took.
  // LevelDB holds a write up, because compaction does not keep up: for a millisecond, or until a
  // table is written.
  std::function<void()> on_stall;
};

// A file that is written in places, again and again. For one thread at a time.
class PlacesFile {
 public:
  PlacesFile() = default;
  PlacesFile(const PlacesFile&) = delete;
  PlacesFile& operator=(const PlacesFile&) = delete;
  virtual ~PlacesFile() = default;
  // The bytes are durable if `sync` says so.
  virtual leveldb::Status WriteAt(uint64_t offset, const leveldb::Slice& bytes, bool sync) = 0;
};

class StoreEnv : public leveldb::EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;
  // The next log that is made in the directory will soon be as large. Heeded where it is of use.
  virtual void ExpectLog(const std::string& /*directory*/, const LogRoom& /*room*/) {}
  // Makes the names in it durable: of files that were made one after the other, all at once.
  virtual leveldb::Status SyncDirectory(const std::string& directory) = 0;
  // Opens it as it is; it is made with its first write at the latest.
  virtual leveldb::Status NewPlacesFile(const std::string& name,
                                        std::unique_ptr<PlacesFile>* file) = 0;
  // Keeps the directory open, as it is now, so that it can be synced whatever the process lacks.
  virtual leveldb::Status HoldDirectory(const std::string& /*directory*/) {
    return leveldb::Status::OK();
  }
};

class DurableEnv final : public StoreEnv, private LogFile::Owner {
 public:
  explicit DurableEnv(EnvObserver observer, LogWrites log_writes = LogWrites::kCached);
  ~DurableEnv() override;

  leveldb::Status NewRandomAccessFile(const std::string& name,
                                      leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;
  leveldb::Status NewAppendableFile(const std::string& name, leveldb::WritableFile** file) override;
  leveldb::Status NewSequentialFile(const std::string& name,
                                    leveldb::SequentialFile** file) override;
  bool FileExists(const std::string& name) override;
  leveldb::Status GetChildren(const std::string& directory,
                              std::vector<std::string>* names) override;
  void ExpectLog(const std::string& directory, const LogRoom& room) override;
  leveldb::Status SyncDirectory(const std::string& directory) override;
  leveldb::Status HoldDirectory(const std::string& directory) override;
  leveldb::Status NewPlacesFile(const std::string& name,
                                std::unique_ptr<PlacesFile>* file) override;
  leveldb::Status CreateDir(const std::string& name) override;
  leveldb::Status RemoveDir(const std::string& name) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  leveldb::Status LockFile(const std::string& name, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  leveldb::Status NewLogger(const std::string& name, leveldb::Logger** logger) override;
  void SleepForMicroseconds(int micros) override;
  void Schedule(void (*work)(void*), void* argument) override;

 private:
  class File;
  class Places;
  class StallLogger;
  // A directory's descriptor.
  class Descriptor;

  leveldb::Status SyncDescriptor(int descriptor, const std::string& name) override;
  leveldb::Status CheckLogBefore(const std::string& name) override;
  void NoteFailedClose(const std::string& name) override;
  leveldb::Status SyncDirectoryOf(const std::string& name);
  leveldb::Status SyncUnlessFailed(const std::string& directory);
  // Why the directory vouches for nothing; told once where no database has it locked.
  leveldb::Status TakeFailedSync(const std::string& directory);
  void NoteFailedSync(const std::string& directory, const leveldb::Status& why);
  // What could not be synced there counts no more: it is opened anew, or gone.
  void ForgetFailures(const std::string& directory);
  leveldb::Status CheckManifestMayGo(const std::string& name);
  LogRoom TakeExpected(const std::string& directory);
  void RunBackground();

  const EnvObserver observer_;
  const LogWrites log_writes_;

  std::mutex logs_mutex_;
  std::set<std::string> close_failed_;  // Guarded by logs_mutex_. Directories: a log's close did.
  std::map<std::string, LogRoom> expected_;  // Guarded by logs_mutex_. By directory.

  std::mutex directories_mutex_;
  // Guarded by directories_mutex_. Held open; locked by a database; what failed to be synced.
  std::map<std::string, std::shared_ptr<const Descriptor>> held_;
  std::set<std::string> locked_;
  std::map<std::string, leveldb::Status> sync_failed_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<void (*)(void*), void*>> work_;  // Guarded by mutex_.
  bool stopping_ = false;                               // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_DURABLE_ENV_H_
