// OverlayEnv: the file system as it is, under changes that stay in memory. A LevelDB opened with it
// recovers, cuts torn tails, renames and removes as ever, and no byte on the disk becomes another:
// so one can look at a store in every detail without taking part in its life.
//
// What is written is held in memory until the env goes: about what the logs hold. Freeze ends that:
// from then on every write fails, and with it what LevelDB would compact in the background.
// Thread-safe. Outlives every database opened with it.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_OVERLAY_ENV_H_
#define TALLYD_STORAGE_LEVELDB_ENV_OVERLAY_ENV_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/env/durable_env.h"

namespace tallyd {

class OverlayEnv final : public StoreEnv {
 public:
  // Reads by `env`, which outlives this.
  explicit OverlayEnv(leveldb::Env* env) : StoreEnv(env) {}
  ~OverlayEnv() override;

  // Keeps everybody from opening the store in `directory` as long as this lives; nothing where
  // nobody ever did. kConflict when somebody has it open, this process included.
  Status Lock(const std::string& directory);
  void Freeze() { frozen_ = true; }

  leveldb::Status NewSequentialFile(const std::string& name,
                                    leveldb::SequentialFile** file) override;
  leveldb::Status NewRandomAccessFile(const std::string& name,
                                      leveldb::RandomAccessFile** file) override;
  leveldb::Status NewWritableFile(const std::string& name, leveldb::WritableFile** file) override;
  leveldb::Status NewAppendableFile(const std::string& name, leveldb::WritableFile** file) override;
  bool FileExists(const std::string& name) override;
  leveldb::Status GetChildren(const std::string& directory,
                              std::vector<std::string>* names) override;
  leveldb::Status RemoveFile(const std::string& name) override;
  leveldb::Status SyncDirectory(const std::string&) override { return leveldb::Status::OK(); }
  leveldb::Status NewPlacesFile(const std::string& name,
                                std::unique_ptr<PlacesFile>* file) override;
  leveldb::Status CreateDir(const std::string& name) override;
  leveldb::Status RemoveDir(const std::string& name) override { return RemoveFile(name); }
  leveldb::Status GetFileSize(const std::string& name, uint64_t* size) override;
  leveldb::Status RenameFile(const std::string& from, const std::string& to) override;
  // Within the process nobody else is there, and between processes Lock tells.
  leveldb::Status LockFile(const std::string& name, leveldb::FileLock** lock) override;
  leveldb::Status UnlockFile(leveldb::FileLock* lock) override;
  leveldb::Status NewLogger(const std::string& name, leveldb::Logger** logger) override;

 private:
  class MemoryFile;
  class Places;
  class Reader;
  class Writer;
  // What stands for a name instead of what the disk has.
  struct Change {
    std::shared_ptr<MemoryFile> file;  // Its bytes; or ...
    std::string real;                  // ... the name on the disk of what it is; or ...
    bool is_directory = false;         // ... a directory; none of them: it was removed.
    bool is_removed() const { return !file && real.empty() && !is_directory; }
  };

  leveldb::Status CheckWritable(const std::string& name) const;
  leveldb::Status WriteAt(const std::string& name, uint64_t offset, const leveldb::Slice& bytes);
  // What a name stands for: a change, or itself on the disk.
  Change Resolve(const std::string& name) const;

  mutable std::mutex mutex_;
  std::map<std::string, Change> changes_;  // Guarded by mutex_.
  std::atomic<bool> frozen_{false};
  std::vector<int> locks_;  // Descriptors.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_OVERLAY_ENV_H_
