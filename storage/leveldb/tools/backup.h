// Backup: all that a store holds at one moment, in a directory, while the store goes on
// (storage/FORMAT.md, Backups): every batch that was acknowledged before it began, whole, and of
// later ones each as a whole or not at all.
//
// Block files are linked where the file system has links, else copied, and those that an earlier
// backup of the store left in the directory stay: only what is new costs anything. Records of base
// and heads are written anew. The earlier backup is there until the new one is complete, and gives
// way to none that lacks a file or is older: such a one is kept beside it.
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_BACKUP_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_BACKUP_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/leveldb/files/database.h"
#include "storage/leveldb/tools/toolbox.h"
#include "storage/store.h"

namespace tallyd {

struct BackupReport {
  std::string to;        // Where it is: beside the directory asked for, if it may not be there.
  TransferCounts files;  // Of column blocks.
  uint64_t kept = 0;     // Files that the earlier backup had.
  uint64_t bytes = 0;    // Of the whole backup.
  uint64_t last_sequence = 0;
  // Files of the store that cannot be read, and that no earlier backup has: it goes without them,
  // as TO.incomplete.
  std::vector<std::string> damaged;
  std::string damage;  // What is wrong with the first of them.
  // The last change of the backup in place, where the store has not all of it: this is TO.older.
  std::optional<uint64_t> later;
  std::chrono::duration<double> took{};
};
// By the names that the answer of POST /v1/backup has.
StoreMember::Members MembersOf(const BackupReport& report);
// Success only where the backup is where it was asked for; else kCorruption or kConflict that says
// what it lacks, and where it is.
Status OutcomeOf(const BackupReport& report);

struct BackupOptions {
  std::string to;
  TimeUs now = 0;
  uint64_t keep_free = 0;  // Bytes of the volume that it leaves alone.
  ToolProgress* progress = nullptr;
  const std::atomic<bool>* stop = nullptr;  // Beside that of `progress`; may be null.
};

// Blocks on the disk. Of any thread; the database may close meanwhile: kUnavailable, try again.
// kInvalid: `to` cannot be a backup's directory. kConflict: it is something else, or another
// backup is being made there. kNoSpace, having left nothing behind. A report says what was made,
// which may be another thing than was asked for (OutcomeOf).
Result<BackupReport> BackUp(Database* database, const BackupOptions& options);

// The backups of a running store: one at a time, watched and stopped from other threads.
class Backups {
 public:
  // `database` outlives it. `below`: no backup is made elsewhere; empty: anywhere. `keep_free`, as
  // each backup begins: the bytes that it leaves free on its volume.
  Backups(Database* database, std::string below, std::function<uint64_t()> keep_free)
      : database_(database), below_(std::move(below)), keep_free_(std::move(keep_free)) {}

  // Tries again, a few times, when a reopen comes between. kConflict while another one runs.
  Result<StoreMember::Members> Run(const std::string& to, TimeUs now,
                                   const std::atomic<bool>& stop);
  // A member `backup` while one runs, and the gauges.
  void Tell(StoreState* state) const;
  // Ends what runs, and no other begins.
  void Stop();

 private:
  Result<BackupReport> TryAgain(const BackupOptions& options);

  Database* const database_;
  const std::string below_;
  const std::function<uint64_t()> keep_free_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  // Guarded by mutex_.
  bool stopped_ = false;
  std::string to_;                          // Of the one that runs.
  std::shared_ptr<ToolProgress> progress_;  // Null: none runs.
  TimeUs last_success_ = 0;                 // Since the process began; 0: none.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_BACKUP_H_
