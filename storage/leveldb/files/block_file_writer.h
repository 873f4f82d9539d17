// BlockFileWriter: entries of one table in order -> a block file. The file has another name until
// Finish, which makes it durable; what was not finished is removed. One thread.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_WRITER_H_
#define TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_WRITER_H_

#include <leveldb/env.h>

#include <memory>
#include <string>
#include <vector>

#include "storage/blocks/block_builder.h"
#include "storage/leveldb/files/block_file.h"

namespace tallyd {

class BlockFileWriter {
 public:
  // `info` says table, number, sequence and window.
  BlockFileWriter(leveldb::Env* env, std::string directory, const BlockFileInfo& info);
  ~BlockFileWriter();
  BlockFileWriter(const BlockFileWriter&) = delete;
  BlockFileWriter& operator=(const BlockFileWriter&) = delete;

  // Add to this builder, and call FlushFull before each Add.
  BlockBuilder& builder() { return builder_; }
  Status FlushFull() { return builder_.IsFull() ? Flush() : Status(); }
  // A block as it is, from another file. REQUIRES: it follows all that was added.
  Status AddBlock(const BlockPlace& place, std::string_view bytes);

  // Null if nothing was added.
  Result<BlockFilePtr> Finish();
  uint64_t bytes() const { return bytes_; }

 private:
  Status Flush();
  Status Append(std::string_view bytes);

  leveldb::Env* const env_;
  const std::string directory_;
  BlockFileInfo info_;
  BlockBuilder builder_;
  std::unique_ptr<leveldb::WritableFile> file_;
  std::vector<BlockPlace> blocks_;
  uint64_t bytes_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_WRITER_H_
