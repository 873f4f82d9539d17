// StrayJudge: what a file in blocks/ is that no record of base names, and whether it may be the
// only copy of what it has. A crash leaves such files, and so do base and heads that were put back
// from an older copy: then they are all that is left of what came since.
//
// Only that is elsewhere whose description names what it was made of, where all of that is there
// now, is of this store, and is to the byte what it was then: files that base names, read whole,
// and heads. A file that a commit dropped is elsewhere if it is the one that base's note means, and
// nothing that base names is missing. One thread.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_STRAY_FILE_H_
#define TALLYD_STORAGE_LEVELDB_FILES_STRAY_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/codec/block_file_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/files/view.h"

namespace tallyd {

// What base says, and what is not sealed.
struct FilesOnRecord {
  std::string store;  // Its id.
  std::vector<BlockFilePtr> files;
  // By number: the checksum of the description, where the note of it says that.
  std::map<uint64_t, std::optional<uint64_t>> dropped;
  std::vector<std::shared_ptr<Head>> heads;
  uint64_t sealed_head = 0;                // The last one.
  std::map<uint64_t, HeadNote> head_notes;  // Of the last sealed ones, by number.
};

struct StrayFile {
  enum class Kind : uint8_t {
    kIncomplete,  // It has no end, as a crash leaves what was being written.
    kElsewhere,   // All of it is where base or the heads have it: it may be unlinked.
    kCopy,        // It is a file that base names, once more: no tallyd made it.
    kOnlyCopy,    // For all that is known.
  };
  Kind kind = Kind::kOnlyCopy;
  std::string reason;                               // Why it may be the only copy.
  std::optional<BlockFileDescription> description;  // Where it can be read.
};

class StrayJudge {
 public:
  // Both outlive it. `any_missing`: of the files that base names some are not there.
  StrayJudge(leveldb::Env* env, const FilesOnRecord* record, bool any_missing = false)
      : env_(*env), record_(*record), any_missing_(any_missing) {}

  // An error: it cannot be read now, and may be anything.
  Result<StrayFile> Judge(const std::string& path, uint64_t number);
  // Of the files of this store that base names and that say that they were made of that: whether
  // each is there to the byte. Null: there are none.
  Result<std::optional<bool>> HasAllMadeOf(const FileSource& source) const;

 private:
  struct End;

  Result<End> ReadEnd(const std::string& path) const;
  bool IsDropped(uint64_t number, const End& end) const;
  Result<bool> IsThere(const FileSource& source);
  Result<bool> HasFile(const FileSource& source) const;

  leveldb::Env& env_;
  const FilesOnRecord& record_;
  const bool any_missing_;
  // By kind and number: whether it is there with that checksum. What was found of one is of use
  // for all files that a merge made.
  std::map<std::pair<FileSource::Kind, uint64_t>, std::pair<uint64_t, bool>> known_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_STRAY_FILE_H_
