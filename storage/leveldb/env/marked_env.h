// MarkedEnv: an Env that notes, in a file SYNCED beside each LevelDB, how much of its log and of
// its manifest an fsync has covered (storage/FORMAT.md). What is damaged below that was
// acknowledged; only what is behind it can be a torn tail. LevelDB alone cannot tell the two apart.
//
// Each successful Sync of a log or manifest is followed by a note, which never claims more. In
// base, and of manifests, the note is synced, too; of other logs it is written only: it survives
// the process, and may lag after a power cut. A note that cannot be written fails the Sync.
//
// Thread-safe. Outlives every database opened with it.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_MARKED_ENV_H_
#define TALLYD_STORAGE_LEVELDB_ENV_MARKED_ENV_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/values/result.h"
#include "storage/leveldb/env/durable_env.h"

namespace tallyd {

inline constexpr std::string_view kSyncedName = "SYNCED";

// The number in the name of a log or manifest; null for any other name.
std::optional<uint64_t> LogNumber(std::string_view name);
std::optional<uint64_t> ManifestNumber(std::string_view name);

// A file, by its number (0: none yet), and its first bytes that were synced.
struct SyncedFile {
  uint64_t number = 0;
  uint64_t bytes = 0;
};

struct SyncedNote {
  uint64_t generation = 0;  // The greater is the later one; 0: none was ever made.
  SyncedFile log;           // The ones synced last.
  SyncedFile manifest;
};
std::string EncodeSyncedNote(const SyncedNote& note);

// The last two notes of a directory: where the last cannot be read, the one before still tells.
struct SyncedNotes {
  // Without a SYNCED nothing is known.
  static Result<SyncedNotes> Read(leveldb::Env* env, const std::string& directory);

  bool known() const { return last.generation > 0; }
  // How much of the log, of the manifest, of that number was synced; 0 where nothing is known.
  uint64_t BytesOf(SyncedFile SyncedNote::*file, uint64_t number) const;

  SyncedNote last;
  SyncedNote before;
  bool damaged = false;  // A note is there that cannot be read.
};

class MarkedEnv final : public StoreEnv {
 public:
  // `base`: the directory whose notes are all synced.
  MarkedEnv(StoreEnv* env, std::string base) : StoreEnv(env), env_(env), base_(std::move(base)) {}

  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status RemoveDir(const std::string& name) override;
  // Syncs the log that was made last in the directory, and notes it: what LevelDB does for a write
  // that is synced, without a record more. Between two writes, of the thread that writes there.
  leveldb::Status SyncLog(const std::string& directory);
  // A database is being opened: its notes are read anew, whatever was done to the directory.
  leveldb::Status LockFile(const std::string& name, leveldb::FileLock** lock) override;
  void ExpectLog(const std::string& directory, const LogRoom& room) override {
    env_->ExpectLog(directory, room);
  }
  leveldb::Status SyncDirectory(const std::string& directory) override {
    return env_->SyncDirectory(directory);
  }
  leveldb::Status HoldDirectory(const std::string& directory) override {
    return env_->HoldDirectory(directory);
  }
  leveldb::Status NewPlacesFile(const std::string& name,
                                std::unique_ptr<PlacesFile>* file) override {
    return env_->NewPlacesFile(name, file);
  }

 private:
  class File;
  struct Directory {
    std::mutex mutex;
    bool is_read = false;
    SyncedNotes notes;
    std::unique_ptr<PlacesFile> file;  // Null until a note is written.
  };

  void SetLog(const std::string& directory, File* log);
  void ForgetLog(const std::string& directory, const File* log);
  std::shared_ptr<Directory> Find(const std::string& path);
  void LetGo(const std::string& path);  // Forgets the directory, and closes its SYNCED.
  leveldb::Status NoteSync(const std::string& path, SyncedFile SyncedNote::*file,
                           SyncedFile synced);
  // A file of that number begins anew: what is known of it is of another.
  leveldb::Status Forget(const std::string& path, SyncedFile SyncedNote::*file, uint64_t number);
  // REQUIRES for these: the directory's mutex.
  leveldb::Status Read(const std::string& path, Directory* directory);
  leveldb::Status Write(const std::string& path, Directory* directory, SyncedNote note, bool sync);

  StoreEnv* const env_;
  const std::string base_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Directory>> directories_;  // Guarded by mutex_.
  std::map<std::string, File*> logs_;  // Guarded by mutex_. The last of each, while it is open.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_MARKED_ENV_H_
