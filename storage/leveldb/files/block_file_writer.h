// BlockFileWriter: entries of one table in order -> a block file. Until base records it, nobody
// knows of it: what was not handed out by Finish is removed with the writer. One thread.
//
//   writer.builder().Add(...) after each FlushFull();  ...  Complete, Sync, Finish.
//
// Complete, Sync and Finish are apart so that many files can be written before the first is waited
// for, and their directory be synced once, by the caller, before base records any of them.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_WRITER_H_
#define TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_WRITER_H_

#include <leveldb/env.h>

#include <memory>
#include <string_view>

#include "storage/blocks/block_builder.h"
#include "storage/leveldb/files/block_file.h"

namespace tallyd {

class BlockFileWriter {
 public:
  // `info` says number, deletes and window.
  BlockFileWriter(BlockFileShelf* shelf, TablePtr table, BlockFileInfo info);
  ~BlockFileWriter();
  BlockFileWriter(const BlockFileWriter&) = delete;
  BlockFileWriter& operator=(const BlockFileWriter&) = delete;

  BlockBuilder& builder() { return *builder_; }
  // Call it before adding an entry of this key and time.
  Status FlushFull(std::string_view row_key, TimeUs time) {
    return builder_->IsFull() && !builder_->ContinuesLast(row_key, time) ? Flush() : Status();
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
  Status Flush();
  Status Append(std::string_view bytes);

  BlockFileShelf* const shelf_;
  const TablePtr table_;
  BlockFileInfo info_;
  std::unique_ptr<BlockBuilder> builder_;
  std::unique_ptr<leveldb::WritableFile> file_;
  bool handed_out_ = false;
  BlockIndex index_;
  uint64_t bytes_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_BLOCK_FILE_WRITER_H_
