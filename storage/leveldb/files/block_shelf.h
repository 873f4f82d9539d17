// BlockFileShelf: where a store's block files stand, and what is kept of them beside what base
// records: indexes and descriptors that were asked for, within bounds that all files share; which
// files are damaged; which are gone. Outlives the files. Thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_BLOCK_SHELF_H_
#define TALLYD_STORAGE_LEVELDB_FILES_BLOCK_SHELF_H_

#include <leveldb/env.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/codec/block_file_codec.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {

using BlockIndexPtr = std::shared_ptr<const BlockIndex>;
using FileHandlePtr = std::shared_ptr<const leveldb::RandomAccessFile>;

// Of things by number those that were used last, as far as their charges stay within the bound:
// of them all, where LevelDB's cache has sixteen parts with a bound each, so that what is larger
// than one is as good as not kept. What somebody holds outlives its place here. Thread-safe.
template <class T>
class BoundedCache {
 public:
  using Ptr = std::shared_ptr<const T>;
  explicit BoundedCache(size_t bound) : bound_(bound) {}

  // Null: it is not here.
  Ptr Find(uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(number);
    if (found == places_.end()) return nullptr;
    things_.splice(things_.begin(), things_, found->second);
    return found->second->thing;
  }

  void Put(uint64_t number, Ptr thing, size_t charge) {
    std::list<Thing> gone;  // Freed after the lock.
    const std::lock_guard lock(mutex_);
    Take(number, &gone);
    if (charge > bound_) return;
    while (charge_ > bound_ - charge) Take(things_.back().number, &gone);
    things_.push_front({number, std::move(thing), charge});
    places_[number] = things_.begin();
    charge_ += charge;
  }

  void Erase(uint64_t number) {
    std::list<Thing> gone;
    const std::lock_guard lock(mutex_);
    Take(number, &gone);
  }

 private:
  struct Thing {
    uint64_t number = 0;
    Ptr thing;
    size_t charge = 0;
  };

  void Take(uint64_t number, std::list<Thing>* to) {  // REQUIRES: mutex_.
    const auto found = places_.find(number);
    if (found == places_.end()) return;
    charge_ -= found->second->charge;
    to->splice(to->begin(), things_, found->second);
    places_.erase(found);
  }

  const size_t bound_;
  std::mutex mutex_;
  std::list<Thing> things_;  // Guarded by mutex_, like the next two; the one used last first.
  std::unordered_map<uint64_t, typename std::list<Thing>::iterator> places_;
  size_t charge_ = 0;
};

struct DamagedFile {
  uint64_t number = 0;
  std::string path;
  std::string reason;  // The first that was met.
};

// The block files of which something could not be read. Whoever meets the damage reports it; it is
// logged once, shown in the status, and work in the background leaves the file alone from then on,
// while what needs it fails and names it. What is noted in base is known after a restart, too.
class DamagedFiles {
 public:
  void Report(DamagedFile file);
  // The file is gone, or whole again.
  void Forget(uint64_t number);
  bool Contains(uint64_t number) const;
  std::vector<DamagedFile> All() const;  // By number.

  // Base has a note of it, unless it was forgotten meanwhile.
  void SetNoted(uint64_t number);
  // Those that base has a note of, or has none of.
  std::vector<DamagedFile> Noted(bool noted) const;

 private:
  struct Damage {
    DamagedFile file;
    bool noted = false;
  };
  mutable std::mutex mutex_;
  std::map<uint64_t, Damage> files_;
};

class BlockFileShelf {
 public:
  // `index_bytes` bounds the indexes. `env` outlives the shelf.
  BlockFileShelf(StoreEnv* env, std::string directory, size_t index_bytes);

  StoreEnv* env() const { return env_; }
  const std::string& directory() const { return directory_; }
  std::string PathOf(uint64_t number) const;
  DamagedFiles& damaged() { return damaged_; }
  BoundedCache<BlockIndex>& indexes() { return indexes_; }
  BoundedCache<leveldb::RandomAccessFile>& handles() { return handles_; }
  // Makes the names of the files durable.
  Status SyncDirectory() const { return FromLevelDb(env_->SyncDirectory(directory_)); }

  // Removes a file that base does not name any more, and forgets what is known of it.
  void Remove(uint64_t number);
  // Makes it durable that the removed files are gone.
  void SyncRemovals();
  // Of these the notes may go (storage/FORMAT.md, Notes on files). Each is returned once.
  std::vector<uint64_t> TakeGone();

 private:
  StoreEnv* const env_;
  const std::string directory_;
  BoundedCache<BlockIndex> indexes_;
  BoundedCache<leveldb::RandomAccessFile> handles_;  // By count.
  DamagedFiles damaged_;

  std::mutex removed_mutex_;
  std::vector<uint64_t> removed_;  // Guarded by removed_mutex_, like the next.
  std::vector<uint64_t> gone_;     // Durably.
};

std::string BlockFilesDirectory(const std::string& path);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_BLOCK_SHELF_H_
