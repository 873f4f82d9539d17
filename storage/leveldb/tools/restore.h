// Restore: a backup -> a store in an empty directory, which is locked and marked first
// (toolbox.h): no daemon starts in it until the store is complete. The backup is read in full
// before anything else is written, and the store when it is complete, still locked.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_RESTORE_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_RESTORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/leveldb/tools/backup_directory.h"
#include "storage/leveldb/tools/toolbox.h"
#include "storage/leveldb/tools/verify.h"

namespace tallyd {

struct BackupCheck {
  BackupManifest manifest;
  std::vector<Finding> findings;
  bool records_are_sound = false;  // If not, no store can be made of it.
};

// Reads every file of a backup. The error: kNotFound when there is no complete backup.
Result<BackupCheck> CheckBackup(const std::string& directory, ToolProgress* progress);

struct RestoreReport {
  BackupCheck backup;
  bool restored = false;
  VerifyReport store;    // What was restored.
  TransferCounts files;  // Of column blocks.
  double seconds = 0;

  bool sound() const { return backup.findings.empty() && store.sound(); }
};

struct RestoreOptions {
  std::string from;
  StorageConfig storage;  // Its path is where the store comes to be.
  // Also a backup of which block files are damaged or missing: the store then is without them.
  bool even_damaged = false;
  ToolProgress* progress = nullptr;
};

// A backup with findings is otherwise left alone, and nothing written. kConflict when there is
// anything at storage.path.
Result<RestoreReport> RestoreBackup(const RestoreOptions& options);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_RESTORE_H_
