// Restore: a backup -> a store in an empty directory. The backup is read in full before anything is
// written, and the store when it is complete. Until then its base has no CURRENT, so that no daemon
// takes it for one.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_RESTORE_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_RESTORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/result.h"
#include "storage/leveldb/tools/backup_directory.h"
#include "storage/leveldb/tools/report.h"
#include "storage/leveldb/tools/transfer.h"
#include "storage/leveldb/tools/verify.h"

namespace tallyd {

struct BackupCheck {
  BackupManifest manifest;
  std::vector<Finding> findings;
};

// Reads every file of a backup. The error: kNotFound when there is no complete backup.
Result<BackupCheck> CheckBackup(const std::string& directory, ToolProgress* progress);

struct RestoreReport {
  BackupCheck backup;
  VerifyReport store;    // When the backup was sound.
  TransferCounts files;  // Of column blocks.
  double seconds = 0;

  bool sound() const { return backup.findings.empty() && store.sound(); }
};

// Into config.path, which it makes. A backup with findings is left alone, and nothing written.
// kConflict when there is anything at config.path.
Result<RestoreReport> RestoreBackup(const std::string& from, const StorageConfig& config,
                                    ToolProgress* progress);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_RESTORE_H_
