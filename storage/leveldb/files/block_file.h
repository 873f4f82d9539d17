// BlockFile: an immutable file of column blocks of one table (storage/FORMAT.md, Block files). What
// base records of it is all that is kept of it in memory; its index and its descriptor are opened
// when they are asked for, and live in bounded caches that all files share (block_shelf.h).
// Thread-safe: reading changes nothing.
//
// Whatever cannot be read is reported to the shelf's DamagedFiles, and the error names the file.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_
#define TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/codec/block_file_codec.h"
#include "storage/leveldb/files/block_shelf.h"

namespace tallyd {

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
  bool is_damaged() const { return shelf_->damaged().Contains(info_.number); }

  // Its contents are elsewhere, and base says so: the file goes with the last who holds it.
  void Drop() const { dropped_ = true; }

 private:
  Result<FileHandlePtr> Handle() const;
  Result<std::string> ReadAt(uint64_t offset, uint64_t size) const;
  Result<BlockIndex> ReadIndex() const;

  BlockFileShelf* const shelf_;
  const BlockFileInfo info_;
  mutable std::atomic<bool> dropped_{false};
};

using BlockFilePtr = std::shared_ptr<const BlockFile>;
// By table; of each, by number.
using BlockFileMap = std::map<TableId, std::vector<BlockFilePtr>>;

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_
