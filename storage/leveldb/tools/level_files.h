// A LevelDB as files. Its own, read one by one without trust and without its manifest: which
// changes they tell of, as far as they can be read, and where they cannot. And one file of all its
// records at one moment, in order of their keys (storage/FORMAT.md, Backups), written once, read
// from its first byte to its last.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_LEVEL_FILES_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_LEVEL_FILES_H_

#include <leveldb/env.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/tools/toolbox.h"

namespace tallyd {

// What became of one key. Views are valid during the call.
struct LevelChange {
  std::string_view key;
  uint64_t sequence = 0;  // LevelDB's: of the changes to a key the greatest counts.
  bool removed = false;
  std::string_view value;
};
using LevelChangeSink = std::function<void(const LevelChange&)>;

struct LevelFileNames {
  std::vector<std::string> tables;  // Paths, in order.
  std::vector<std::string> logs;
};
Result<LevelFileNames> ListLevelFiles(leveldb::Env* env, const std::string& directory);

// Both go on behind what cannot be read, and add it to *findings.
void ReadTableFile(leveldb::Env* env, const std::string& path, const LevelChangeSink& sink,
                   std::vector<Finding>* findings);
void ReadLogFile(leveldb::Env* env, const std::string& path, const LevelChangeSink& sink,
                 std::vector<Finding>* findings);

// All that a LevelDB holds, by key.
struct LevelRecords {
  // It opens, and all of it can be read. Otherwise this is what its files tell, whichever of them
  // count: what was removed may be here, and what is lost is not.
  bool whole = false;
  std::map<std::string, std::string> records;
};
// Changes nothing; needs the memory for it. `sync`: as its logs were written.
LevelRecords ReadLevel(StoreEnv* env, const std::string& directory, Sync sync,
                       std::vector<Finding>* findings);

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

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_LEVEL_FILES_H_
