// FileSweep: what a start finds in blocks/ and heads/, held against what base names, before anybody
// makes or reads block files.
//
// - A file that base names and that is not there, or has another size, is reported as damaged.
// - Any other one is nobody's (stray_file.h). Where it is incomplete, or all of it is elsewhere, a
//   crash came while it was made, or before it was unlinked: it is removed. Every other goes to
//   lost/, and is told: base may be wrong, or be older than it. One that cannot be read stays where
//   it is.
// - A head that base calls sealed is removed where it is the one that was (stray_head.h), and goes
//   to lost/ where it is not, or where a file that base names is missing.
// - What is not named like a block file or a head is left alone.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_FILE_SWEEP_H_
#define TALLYD_STORAGE_LEVELDB_FILES_FILE_SWEEP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/files/stray_file.h"

namespace tallyd {

struct LostFile {
  std::string path;
  uint64_t bytes = 0;
};

struct FileSweep {
  uint64_t greatest = 0;       // Number that any file has had.
  std::vector<LostFile> lost;  // All that are in lost/, by name.
};

// `path`: of the store.
Result<FileSweep> SweepFiles(BlockFileShelf* shelf, const std::string& path,
                             const FilesOnRecord& record);

// The number of the block file whose name that is. Other spellings of a number are no file's name,
// and would be another's twin.
std::optional<uint64_t> NumberOfBlockFile(const BlockFileShelf& shelf, const std::string& name);

std::string LostDirectory(const std::string& path);

// What a name in lost/ says that it is: neither where somebody else put it there.
struct LostName {
  enum class Kind : uint8_t { kBlockFile, kHead };
  Kind kind = Kind::kBlockFile;
  uint64_t number = 0;
};
std::optional<LostName> ParseLostName(std::string_view name);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_FILE_SWEEP_H_
