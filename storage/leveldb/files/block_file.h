// BlockFile: an immutable file of column blocks of one table (storage/FORMAT.md, Block files), in
// order of row key, with an index of its blocks. What base records of it is its BlockFileInfo; a
// file without a record is rubbish. Thread-safe: reading changes nothing.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_
#define TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_

#include <leveldb/env.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/result.h"
#include "config/time.h"
#include "storage/table_info.h"

namespace tallyd {

struct BlockFileInfo {
  TableId table = 0;
  uint64_t number = 0;    // Of the file.
  uint64_t sequence = 0;  // Its entries' place in the order of commits.
  uint64_t deletes = 0;   // Deletes up to this sequence have been applied to it.
  TimeUs window = 0;      // It holds times of [window, window + width) only.
  int64_t width = 0;
  TimeUs min_time = 0;
  TimeUs max_time = 0;
  uint64_t entries = 0;
  uint64_t bytes = 0;

  bool Overlaps(const TimeRange& range) const {
    return min_time < range.to && max_time >= range.from;
  }
};

std::string BlockFileKey(TableId table, uint64_t number);
std::string EncodeBlockFile(const BlockFileInfo& info);
Result<BlockFileInfo> DecodeBlockFile(std::string_view key, std::string_view record);

struct BlockPlace {
  uint64_t offset = 0;
  uint32_t size = 0;
  uint32_t head_size = 0;
  uint32_t entries = 0;
  uint32_t rows = 0;
  TimeUs min_time = 0;
  TimeUs max_time = 0;
  std::string first_key;
  std::string last_key;
};

std::string EncodeBlockIndex(const std::vector<BlockPlace>& blocks);

class BlockFile {
 public:
  // Reads the index. kCorruption names the file.
  static Result<std::shared_ptr<const BlockFile>> Open(leveldb::Env* env,
                                                       const std::string& directory,
                                                       const BlockFileInfo& info);
  ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  const BlockFileInfo& info() const { return info_; }
  const std::vector<BlockPlace>& blocks() const { return blocks_; }
  std::string_view first_key() const { return blocks_.front().first_key; }
  std::string_view last_key() const { return blocks_.back().last_key; }
  // The first block whose last key is at or after `key`; blocks().size() if none is.
  size_t FindBlock(std::string_view key) const;

  // Part of a block's bytes: `size` bytes from `offset` in the block. *bytes is replaced.
  Status Read(const BlockPlace& block, uint32_t offset, uint32_t size, std::string* bytes) const;

  // Its contents are elsewhere, and base says so: the file goes with the last who holds it.
  void Drop() const { dropped_ = true; }

 private:
  BlockFile(leveldb::Env* env, std::string path, const BlockFileInfo& info)
      : env_(env), path_(std::move(path)), info_(info) {}
  Status ReadIndex();

  leveldb::Env* const env_;
  const std::string path_;
  const BlockFileInfo info_;
  std::unique_ptr<leveldb::RandomAccessFile> file_;
  std::vector<BlockPlace> blocks_;
  mutable std::atomic<bool> dropped_{false};
};

using BlockFilePtr = std::shared_ptr<const BlockFile>;
// By table; of each, by number.
using BlockFileMap = std::map<TableId, std::vector<BlockFilePtr>>;

std::string BlockFilesDirectory(const std::string& path);
std::string BlockFilePath(const std::string& directory, uint64_t number);
// The name under which a file is written before it is complete.
std::string UnfinishedBlockFilePath(const std::string& directory, uint64_t number);
// Removes the files whose numbers are not in `known`, which is sorted. Returns the greatest number
// that any file has had.
Result<uint64_t> RemoveStrayFiles(leveldb::Env* env, const std::string& directory,
                                  const std::vector<uint64_t>& known);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_H_
