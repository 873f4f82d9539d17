// BlockFileCheck: a block file read without trust, by what it says of itself (storage/FORMAT.md,
// Block files), and each of its blocks in every detail: checksums, codecs, order of entries, what
// aggregate families hold, and whether file, index and blocks say the same.
//
//   Result<BlockFileCheck> file = BlockFileCheck::Open(env, path);
//   for (const BlockPlace& place : file->index().blocks()) {
//     file->Read(place, &bytes);  checker.Check(place, bytes);
//   }
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_BLOCK_CHECK_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_BLOCK_CHECK_H_

#include <leveldb/env.h>

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/blocks/column_block.h"
#include "storage/leveldb/codec/block_file_codec.h"
#include "storage/table_info.h"

namespace tallyd {

class BlockFileCheck {
 public:
  // Reads its end, its description and its index. kCorruption says what of them is wrong.
  static Result<BlockFileCheck> Open(leveldb::Env* env, const std::string& path);

  // The same where the index cannot be read: the blocks up to the first that is damaged, which say
  // themselves where the next one is. `known`: what base records of it, where the file itself
  // does not tell; may be null.
  static Result<BlockFileCheck> Scan(leveldb::Env* env, const std::string& path,
                                     const BlockFileDescription* known);

  // With bytes and checksum, so that it compares with base's record.
  const BlockFileDescription& description() const { return description_; }
  const BlockIndex& index() const { return index_; }
  Status Read(const BlockPlace& place, std::string* bytes) const;

 private:
  BlockFileCheck() = default;

  Status OpenFile(leveldb::Env* env, const std::string& path, uint64_t* size);
  // Of the two what can be read; the error is of the first that cannot.
  Status ReadEnd(uint64_t size, bool* described);
  Result<BlockPlace> ReadPlace(uint64_t offset, uint64_t end);

  std::unique_ptr<leveldb::RandomAccessFile> file_;
  BlockFileDescription description_;
  BlockIndex index_;
  std::string first_key_;  // Of the place read last, like the next one.
  std::string last_key_;
};

// The blocks of one file, in order. Keeps its buffers; not thread-safe.
class BlockChecker {
 public:
  // Of the file's description, which outlives the checker.
  explicit BlockChecker(const BlockFileDescription& file)
      : description_(file), info_(file.info), families_(file.table.families) {}

  // kCorruption says what is wrong with the block.
  Status Check(const BlockPlace& place, std::string_view bytes);
  // After the last of them, if all were good: whether they come to what the file says of them.
  Status CheckSums() const;

  const ColumnBlock& block() const { return block_; }  // The one checked last.

 private:
  Status CheckEntries(const BlockPlace& place);
  Status CheckStreams(std::string_view bytes);
  Status CheckParts();

  const BlockFileDescription& description_;
  const BlockFileInfo& info_;
  const std::vector<StoredFamily>& families_;
  ColumnBlock block_;
  ColumnData data_;
  std::string key_;
  std::string last_key_;  // Of the entry before, in whichever block, like the next two.
  TimeUs last_time_ = 0;
  uint64_t last_sequence_ = 0;
  bool any_ = false;
  bool goes_on_ = false;         // The block before has a part of what a row has at one time.
  std::vector<uint32_t> parts_;  // Entries that go on with the one before, of the block at hand.
  // Of the entry before, with all of its parts, where it may go on.
  boost::unordered_flat_set<Column, ColumnNameHash, ColumnNameEqual> columns_;
  // Of all blocks so far.
  BlockFileInfo sums_;
  ContentChecksum content_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_BLOCK_CHECK_H_
