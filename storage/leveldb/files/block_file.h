// BlockFile: an immutable file of column blocks of one table (storage/FORMAT.md, Block files). What
// base records of it is all that is kept of it in memory; its index and its descriptor are opened
// when they are asked for, and live in bounded caches that all files share (BlockFileShelf).
// Thread-safe: reading changes nothing.
//
// Whatever cannot be read is reported to the shelf's DamagedFiles, and the error names the file.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_
#define TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_

#include <leveldb/cache.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "config/result.h"
#include "storage/leveldb/codec/block_file_codec.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/files/damaged_files.h"

namespace tallyd {

using BlockIndexPtr = std::shared_ptr<const BlockIndex>;
using FileHandlePtr = std::shared_ptr<const leveldb::RandomAccessFile>;

// Where a store's block files stand, and what of them is open. Outlives them.
class BlockFileShelf {
 public:
  // `cache` bounds the indexes, beside whatever else is in it; outlives the shelf, like `env`.
  BlockFileShelf(StoreEnv* env, std::string directory, leveldb::Cache* cache);

  StoreEnv* env() const { return env_; }
  const std::string& directory() const { return directory_; }
  std::string PathOf(uint64_t number) const;
  DamagedFiles& damaged() { return damaged_; }
  // Makes the names of the files durable.
  Status SyncDirectory() const { return FromLevelDb(env_->SyncDirectory(directory_)); }
  // Makes it durable that the dropped files which are gone are gone.
  void SyncRemovals();
  // Of these the notes may go (storage/FORMAT.md, Dropped files). Each is returned once.
  std::vector<uint64_t> TakeGone();

 private:
  friend class BlockFile;
  template <class T>
  std::shared_ptr<const T> Find(leveldb::Cache* cache, uint64_t number);
  template <class T>
  std::shared_ptr<const T> Keep(leveldb::Cache* cache, uint64_t number, std::unique_ptr<const T> t,
                                size_t charge);
  std::string CacheKey(uint64_t number) const;
  void AddRemoved(uint64_t number);

  StoreEnv* const env_;
  const std::string directory_;
  leveldb::Cache* const indexes_;
  const std::unique_ptr<leveldb::Cache> handles_;  // By count.
  const uint64_t cache_id_;
  DamagedFiles damaged_;

  std::mutex removed_mutex_;
  std::vector<uint64_t> removed_;  // Guarded by removed_mutex_, like the next.
  std::vector<uint64_t> gone_;     // Durably.
};

class BlockFile {
 public:
  // Opens nothing.
  BlockFile(BlockFileShelf* shelf, BlockFileInfo info) : shelf_(shelf), info_(std::move(info)) {}
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  const BlockFileInfo& info() const { return info_; }
  std::string_view first_key() const { return info_.first_key; }
  std::string_view last_key() const { return info_.last_key; }
  std::string path() const { return shelf_->PathOf(info_.number); }

  // kCorruption also when the file is not the one that base recorded.
  Result<BlockIndexPtr> Index() const;
  // Part of a block's bytes: `size` bytes from `offset` in the block. *bytes is replaced.
  Status Read(const BlockPlace& block, uint32_t offset, uint32_t size, std::string* bytes) const;
  // To be called with every error that the file's bytes caused: reports it, and names the file.
  Error Damaged(const Error& error) const;
  void ReportDamage(const Error& error) const;
  bool is_damaged() const { return shelf_->damaged_.Contains(info_.number); }

  // Its contents are elsewhere, and base says so: the file goes with the last who holds it.
  void Drop() const { dropped_ = true; }

 private:
  Result<FileHandlePtr> Handle() const;
  Result<std::string> ReadAt(uint64_t offset, uint64_t size) const;
  Result<BlockIndexPtr> ReadIndex() const;

  BlockFileShelf* const shelf_;
  const BlockFileInfo info_;
  mutable std::atomic<bool> dropped_{false};
};

using BlockFilePtr = std::shared_ptr<const BlockFile>;
// By table; of each, by number.
using BlockFileMap = std::map<TableId, std::vector<BlockFilePtr>>;

std::string BlockFilesDirectory(const std::string& path);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_
