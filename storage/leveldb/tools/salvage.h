// Salvage: a store of what can still be read of a damaged one, in another directory. Base's records
// where base can be read; else the column sets and tables that the heads keep copies of, and what
// block files say of themselves. What cannot be read is left out block by block, record by record,
// and counted. The damaged store is only read.
//
// Rows of latest tables are those that base and heads tell; where either is damaged they may be
// older than the history (report.latest_may_be_old), which whoever knows the schema can mend.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_SALVAGE_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_SALVAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/leveldb/tools/toolbox.h"
#include "storage/leveldb/tools/verify.h"
#include "storage/table_info.h"

namespace tallyd {

struct SalvagedTable {
  std::string name;
  TableMode mode = TableMode::kHistory;
  // Of history tables.
  uint64_t files = 0;  // Taken, whole or in part.
  uint64_t lost_files = 0;
  uint64_t blocks = 0;
  uint64_t lost_blocks = 0;
  uint64_t entries = 0;       // In blocks and heads.
  uint64_t lost_entries = 0;  // As far as something tells of them.
  // Of latest tables.
  uint64_t rows = 0;
  uint64_t lost_rows = 0;
};

struct SalvageReport {
  enum class Base : uint8_t { kWhole, kDamaged, kGone };
  Base base = Base::kWhole;
  uint64_t heads = 0;          // There, or missing.
  uint64_t damaged_heads = 0;  // And missing ones.
  std::map<TableId, SalvagedTable> tables;
  TransferCounts files;            // Of column blocks, taken as they are.
  std::vector<Finding> findings;   // What could not be read.
  std::vector<std::string> notes;  // What else is not as it was.
  bool latest_may_be_old = false;
  uint64_t bytes = 0;  // Read.
  double seconds = 0;
  VerifyReport made;  // Of the new store.

  // Nothing was lost.
  bool whole() const { return findings.empty() && made.sound(); }
};

struct SalvageOptions {
  StorageConfig storage;  // Of the damaged store.
  std::string to;         // Absent, or an empty directory.
  ToolProgress* progress = nullptr;
};

// Writes options.to, and nothing else. kConflict where a process has the store open, or `to` is not
// empty; kNotFound where nothing of a store is.
Result<SalvageReport> Salvage(const SalvageOptions& options);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_SALVAGE_H_
