// RecordFile: the records of one LevelDB at one moment, in order of their keys, in one file
// (storage/FORMAT.md, Backups). Written once, read from its first byte to its last.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_RECORD_FILE_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_RECORD_FILE_H_

#include <leveldb/env.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/result.h"

namespace tallyd {

class RecordFileWriter {
 public:
  static Result<std::unique_ptr<RecordFileWriter>> Create(leveldb::Env* env,
                                                          const std::string& path);

  Status Add(std::string_view key, std::string_view value);
  // Nothing is complete before it; synced.
  Status Finish();

  uint64_t bytes() const { return bytes_; }        // Written so far.
  uint64_t checksum() const { return checksum_; }  // Of the whole file, once it is finished.

 private:
  explicit RecordFileWriter(std::unique_ptr<leveldb::WritableFile> file) : file_(std::move(file)) {}
  Status WriteChunk(std::string_view payload);
  Status Append(std::string_view bytes);

  const std::unique_ptr<leveldb::WritableFile> file_;
  std::string chunk_;
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
  uint64_t checksum_ = 0;
};

// Calls `record` with each; its error ends the reading. kCorruption if the file is not what was
// written: also when its size or checksum are others than those of `bytes` and `checksum`.
Status ReadRecordFile(
    leveldb::Env* env, const std::string& path, uint64_t bytes, uint64_t checksum,
    const std::function<Status(std::string_view key, std::string_view value)>& record);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_RECORD_FILE_H_
