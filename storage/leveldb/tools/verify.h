// Verify: reads everything that a store has and says what of it is not what was written. Changes
// nothing: the store is opened as the daemon would open it, over changes in memory (OverlayEnv),
// and each file is also read by itself, so that one that is damaged hides no other.
//
// Blocks on the disk, for as long as reading the store takes. Two threads read block files.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_VERIFY_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_VERIFY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/result.h"
#include "storage/leveldb/tools/opened_store.h"
#include "storage/leveldb/tools/report.h"

namespace tallyd {

struct VerifiedTable {
  std::string name;
  TableMode mode = TableMode::kHistory;
  // Of history tables.
  uint64_t files = 0;
  uint64_t blocks = 0;
  uint64_t sealed_entries = 0;
  uint64_t unsealed_entries = 0;
  uint64_t bytes = 0;
  uint64_t damaged_blocks = 0;  // Files of which not even the blocks are known count as one.
  uint64_t rows = 0;            // Of latest tables.
};

struct VerifyReport {
  std::vector<Finding> findings;   // What is damaged or missing.
  std::vector<std::string> notes;  // What is not, and may be of interest.
  std::map<TableId, VerifiedTable> tables;
  uint64_t heads = 0;
  uint64_t bytes = 0;  // That were read.
  double seconds = 0;

  bool sound() const { return findings.empty(); }
};

struct VerifyOptions {
  StorageConfig storage;
  unsigned threads = 2;
  // False: of a copy that nobody opens, or where the caller has the lock.
  bool take_lock = true;
  ToolProgress* progress = nullptr;  // May be null.
  // Called with the store, if it opens: for what only others can tell.
  std::function<void(OpenedStore*, VerifyReport*)> also;
};

// The error: kNotFound when there is no store, kConflict when another process has it open,
// kCancelled.
Result<VerifyReport> VerifyStore(const VerifyOptions& options);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_VERIFY_H_
