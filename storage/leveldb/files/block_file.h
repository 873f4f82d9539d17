// Block files: immutable files of column blocks of one table (storage/FORMAT.md, Block files).
// BlockFile reads one, BlockFileWriter makes one, and BlockFileShelf is where a store's files
// stand, with what is kept of them beside what base records: indexes, descriptors and parts of
// blocks that were asked for, within bounds that all files share; which files are damaged; which
// are gone.
//
// What turns out not to be what was written is reported to the shelf's DamagedFiles; a call of the
// system that failed is no damage, and may succeed the next time. Both errors name the file.
// Shelf and files are thread-safe, a writer is of one thread; the shelf outlives both.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_
#define TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_

#include <leveldb/env.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values/result.h"
#include "storage/blocks/block_builder.h"
#include "storage/leveldb/codec/block_file_codec.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/files/block_part_cache.h"
#include "storage/leveldb/files/bounded_cache.h"

namespace tallyd {

using BlockIndexPtr = std::shared_ptr<const BlockIndex>;
using FileHandlePtr = std::shared_ptr<const leveldb::RandomAccessFile>;

// Whether what is read of blocks is kept for the next who asks, as what scans of the store read is;
// what merges read is not.
enum class BlockReads : uint8_t { kOnce, kCached };

struct DamagedFile {
  uint64_t number = 0;
  std::string path;
  std::string reason;  // The first that was met.
};

// The block files of which something is not what was written. Whoever meets the damage reports it;
// it is logged once, shown in the status, and work in the background leaves the file alone from
// then on, while what needs it fails and names it. What is noted in base outlives a restart, too.
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

// How much of what was read the shelf keeps.
struct ShelfCacheBytes {
  size_t indexes = 0;
  size_t parts = 0;  // Of blocks.
};

// Where the files stand, and what all of them share.
class BlockFileShelf {
 public:
  // `env` outlives the shelf.
  BlockFileShelf(StoreEnv* env, std::string directory, const ShelfCacheBytes& cache);

  StoreEnv* env() const { return env_; }
  const std::string& directory() const { return directory_; }
  std::string PathOf(uint64_t number) const;
  // The id of the store whose files they are; files that are made say it. Set before any is made;
  // to set it again changes nothing.
  const std::string& store() const { return store_; }
  void SetStore(const std::string& id) {
    if (store_ != id) store_ = id;
  }
  DamagedFiles& damaged() { return damaged_; }
  BoundedCache<BlockIndex>& indexes() { return indexes_; }
  BoundedCache<leveldb::RandomAccessFile>& handles() { return handles_; }
  BlockPartCache& parts() { return parts_; }
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
  std::string store_;
  BoundedCache<BlockIndex> indexes_;
  BoundedCache<leveldb::RandomAccessFile> handles_;  // By count.
  BlockPartCache parts_;
  DamagedFiles damaged_;

  std::mutex removed_mutex_;
  std::vector<uint64_t> removed_;  // Guarded by removed_mutex_, like the next.
  std::vector<uint64_t> gone_;     // Durably.
};

std::string BlockFilesDirectory(const std::string& path);

// BlockFile: what base records of a file is all that is kept of it in memory; its index and its
// descriptor are opened when they are asked for. Reading changes nothing.
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
  // The same, and perhaps more than that: `ahead` bytes, where they are read and the block has
  // them.
  Result<BytesPtr> ReadPart(const BlockPlace& block, uint32_t offset, uint32_t size, uint32_t ahead,
                            BlockReads reads) const;
  // What ReadPart gave from there on turned out to be damaged: whoever asks next reads it again.
  void ForgetPart(const BlockPlace& block, uint32_t offset) const {
    shelf_->parts().Erase({info_.number, block.offset + offset});
  }
  // To be called with every error that the file caused: reports it if it is damage, and names the
  // file.
  Error Damaged(const Error& error) const;
  void ReportDamage(const Error& error) const;
  bool is_damaged() const { return shelf_->damaged().Contains(info_.number); }
  // Whether a call that was to read it has failed since the last time this was asked.
  bool TakeFailedRead() const { return failed_read_.exchange(false); }

  // What was just written, as those will find it who read it: the index, each block's head within a
  // reader's bounds, each column's checksum, and that all of it is what the record says. Values are
  // not decoded. `go_on` is called now and then; its error ends it. Reports nothing.
  Status CheckWritten(const std::function<Status()>& go_on) const;

  // Its contents are elsewhere, and base says so: the file goes with the last who holds it.
  void Drop() const { dropped_ = true; }

 private:
  Result<FileHandlePtr> Handle() const;
  Result<std::string> ReadAt(uint64_t offset, uint64_t size) const;
  Result<BlockIndex> ReadIndex() const;

  BlockFileShelf* const shelf_;
  const BlockFileInfo info_;
  Status ReadBlock(const BlockPlace& block, std::string* bytes) const;

  mutable std::atomic<bool> dropped_{false};
  mutable std::atomic<bool> failed_read_{false};
};

using BlockFilePtr = std::shared_ptr<const BlockFile>;
// By table; of each, by number.
using BlockFileMap = std::map<TableId, std::vector<BlockFilePtr>>;

// BlockFileWriter: entries of one table in order -> a block file. Until base records it, nobody
// knows of it: what was not handed out by Finish is removed with the writer.
//
//   writer.builder().Add(...) where it HasRoom(), or after FlushFull(); ... Complete, Sync, Finish.
//
// An entry of more than BlockBounds takes comes in parts, with FlushBeforePart before each.
//
// Complete, Sync and Finish are apart so that many files can be written before the first is waited
// for, and their directory be synced once, by the caller, before base records any of them.
class BlockFileWriter {
 public:
  // `info` says number, deletes and window; `sources`, what its entries come from: empty where
  // nothing has all of them.
  BlockFileWriter(BlockFileShelf* shelf, TablePtr table, BlockFileInfo info,
                  const BlockBounds& bounds = {}, std::vector<FileSource> sources = {});
  ~BlockFileWriter();
  BlockFileWriter(const BlockFileWriter&) = delete;
  BlockFileWriter& operator=(const BlockFileWriter&) = delete;

  BlockBuilder& builder() { return *builder_; }
  // For any entry that may come next: FlushFull would do nothing.
  bool HasRoom() const { return !builder_->IsFull(); }
  // Call it before adding an entry of this key and time, of so many columns.
  Status FlushFull(std::string_view row_key, TimeUs time, size_t columns) {
    if (HasRoom()) return {};
    const bool continues = builder_->ContinuesLast(row_key, time);
    return continues && builder_->TakesMore(columns) ? Status() : Flush(continues);
  }
  Status FlushBeforePart(std::string_view row_key, TimeUs time) {
    return builder_->empty() ? Status() : Flush(builder_->ContinuesLast(row_key, time));
  }
  // Before entries that have all of these columns, and another key or time than the last one.
  Status FlushBeforeRun(size_t columns) {
    const bool has_room = HasRoom() && builder_->TakesColumns(columns);
    return has_room || builder_->empty() ? Status() : Flush(false);
  }
  // A block as it is, from another file, with the least and the greatest of its sequences.
  // REQUIRES: it follows all that was added, and does not go on with its last row and time.
  Status AddBlock(const BlockPlace& place, std::string_view bytes, uint64_t min_sequence,
                  uint64_t max_sequence);

  bool empty() const { return index_.empty() && (!builder_ || builder_->empty()); }
  // Writes what is left. The builder's buffers go. REQUIRES: !empty().
  Status Complete();
  Status Sync();
  // REQUIRES: Sync succeeded.
  BlockFilePtr Finish();
  uint64_t bytes() const { return bytes_; }

 private:
  // `goes_on`: what comes next is of the key and time of what was added last.
  Status Flush(bool goes_on);
  Status Append(std::string_view bytes);

  BlockFileShelf* const shelf_;
  const TablePtr table_;
  BlockFileInfo info_;
  const std::vector<FileSource> sources_;
  ContentChecksum content_;
  std::unique_ptr<BlockBuilder> builder_;
  std::unique_ptr<leveldb::WritableFile> file_;
  bool handed_out_ = false;
  BlockIndex index_;
  uint64_t bytes_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_
