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
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/leveldb/commit/engine_state.h"
#include "storage/leveldb/files/database.h"
#include "storage/leveldb/tools/toolbox.h"
#include "storage/scan.h"

namespace tallyd {

// A store opened to be looked at: its files, and what it holds in memory of them, by the same rules
// as when the daemon opens it, without the threads that change it. With an OverlayEnv nothing on
// the disk changes. One thread.
class OpenedStore {
 public:
  // `env` outlives it.
  static Result<std::unique_ptr<OpenedStore>> Open(const StorageConfig& config, StoreEnv* env);
  ~OpenedStore() { database_.Close(); }
  OpenedStore(const OpenedStore&) = delete;
  OpenedStore& operator=(const OpenedStore&) = delete;

  // Sees what is stored as the schema does, in memory only. kConflict if it contradicts.
  Status Adopt(const Schema& schema);

  Database& database() { return database_; }
  const EngineState& state() const { return state_; }
  // Null where there is no such table.
  TablePtr FindTable(std::string_view name) const { return state_.catalogue.Find(name); }
  const FilesOnRecord& on_record() const { return on_record_; }
  // As Store::Scan.
  Result<std::unique_ptr<RowScan>> Scan(const TablePtr& table, const ScanSpec& spec);

 private:
  OpenedStore(const StorageConfig& config, StoreEnv* env) : database_(config, env) {}

  Database database_;
  EngineState state_;
  FilesOnRecord on_record_;
};

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
