// The files of a LevelDB, read one by one without trust and without its manifest: which changes
// they tell of, as far as they can be read, and where they cannot.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_LEVEL_FILES_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_LEVEL_FILES_H_

#include <leveldb/env.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/result.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/tools/report.h"

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

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_LEVEL_FILES_H_
