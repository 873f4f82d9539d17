// Makes the block files of a store what format 8 wrote: of the same blocks, without the ids and
// checksums that came later.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_OLD_BLOCK_FILES_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_OLD_BLOCK_FILES_H_

#include <gtest/gtest.h>
#include <leveldb/db.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/block_file_codec.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {

// As format 8 described a file.
inline std::string DescriptionOfFormat8(const BlockFileDescription& description) {
  BlockFileDescription without = description;
  without.origin = {};
  constexpr size_t kOrigin = 1 + sizeof(uint64_t) + 1;  // No store, a checksum, no sources.
  std::string bytes = EncodeDescription(without);
  bytes.resize(bytes.size() - kOrigin);
  bytes[0] = 2;
  bytes[1] = 8;
  return bytes;
}

// Of a store that is closed. Its base says which format it has; that is up to the caller.
inline void RewriteFilesAsFormat8(const std::string& path) {
  leveldb::DB* opened = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(leveldb::Options(), path, &opened).ok());
  const std::unique_ptr<leveldb::DB> base(opened);
  std::vector<BlockFileInfo> files;
  const std::string space(1, static_cast<char>(KeySpace::kBlockFiles));
  {
    const std::unique_ptr<leveldb::Iterator> it(base->NewIterator({}));
    for (it->Seek(space); it->Valid() && it->key().starts_with(space); it->Next()) {
      files.push_back(DecodeBlockFile(ToView(it->key()), ToView(it->value())).value());
    }
  }
  for (BlockFileInfo& info : files) {
    const std::string number = std::to_string(info.number);
    const std::string name =
        path + "/blocks/" + std::string(6 - number.size(), '0') + number + ".blocks";
    std::ifstream in(name, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(in), {});
    BlockFileFooter footer;
    const size_t end = bytes.size() - BlockFileFooter::kBytes;
    ASSERT_TRUE(DecodeFooter(std::string_view(bytes).substr(end), bytes.size(), &footer));
    const std::string_view described =
        std::string_view(bytes).substr(footer.description, end - footer.description);
    const std::string description = DescriptionOfFormat8(DecodeDescription(described).value());
    bytes.resize(footer.description);
    footer.description_checksum = info.checksum = Checksum64(description);
    bytes += description + EncodeFooter(footer);
    info.bytes = bytes.size();
    std::ofstream(name, std::ios::binary) << bytes;
    ASSERT_TRUE(base->Put({}, BlockFileKey(info.table, info.number), EncodeBlockFile(info)).ok());
  }
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_OLD_BLOCK_FILES_H_
