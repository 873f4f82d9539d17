// BackupDirectory: the directory that backups of one store go to, held for one backup at a time
// (storage/FORMAT.md, Backups). Its manifest says what the complete backup in it consists of: it is
// written last, so a directory without one, or with one that is not whole, has no backup. What is
// in it that no manifest names is rubbish of a backup that was interrupted.
//
//   directory.Take(to, store id);  ... files ...  directory.Complete(manifest);  or else Leave().
#ifndef TALLYD_STORAGE_LEVELDB_TOOLS_BACKUP_DIRECTORY_H_
#define TALLYD_STORAGE_LEVELDB_TOOLS_BACKUP_DIRECTORY_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/leveldb/env/durable_env.h"

namespace tallyd {

inline constexpr char kManifestName[] = "BACKUP";
inline constexpr char kBaseRecords[] = "base.records";

struct BackupManifest {
  struct Records {
    std::string name;  // Of the file in the moment's directory.
    uint64_t bytes = 0;
    uint64_t checksum = 0;
  };
  struct Blocks {
    uint64_t number = 0;
    uint64_t bytes = 0;
    uint64_t checksum = 0;  // Of the description, as base has it.
  };

  std::string store;  // The id of the store, in hexadecimal.
  TimeUs made = 0;
  uint64_t last_sequence = 0;  // What was committed up to it is in the backup, and nothing else.
  // The last opening of the store by then, and how many there had been; 0: nobody noted it.
  uint64_t opening = 0;
  uint64_t openings = 0;
  uint64_t moment = 0;         // Its number: that of the directory of its records. 0: no backup.
  std::vector<Records> records;
  std::vector<Blocks> blocks;  // By number.

  uint64_t bytes() const;  // Of all files.
};

std::string EncodeManifest(const BackupManifest& manifest);
// kCorruption; kConflict when a newer tallyd wrote it.
Result<BackupManifest> DecodeManifest(std::string_view text);

std::string MomentName(uint64_t moment);
std::string HeadRecordsName(uint64_t head);
// The number in it; 0 for any other name.
uint64_t HeadOfRecords(std::string_view name);
// Two stores that were one may have given one number to different files.
std::string BlocksName(const BackupManifest::Blocks& file);

// Whether `to` can be a backup's directory: kInvalid unless it is an absolute path whose parent is
// there, and that lies nowhere in the data of the store, nor they in it, without control bytes.
// kConflict if it is there, and no directory.
Status CheckBackupPlace(const std::string& to, const std::string& store);

// Whether it lies below that directory, whatever links lead there: kInvalid, naming it, if not.
Status CheckBackupIsBelow(const std::string& to, const std::string& directory);

class BackupDirectory {
 public:
  // `env` outlives it.
  explicit BackupDirectory(StoreEnv* env) : env_(env) {}
  ~BackupDirectory();
  BackupDirectory(const BackupDirectory&) = delete;
  BackupDirectory& operator=(const BackupDirectory&) = delete;

  // Makes the directory, or takes one that is empty or has backups of the store of that id, and
  // clears it of rubbish, once it is certain which manifest counts. Where none is there, or the
  // moment that it names is not, what is there may be all that is left of a backup: it stays until
  // another one is complete. kConflict if it has anything
  // else, or another backup is being made there. A failure leaves nothing behind.
  Status Take(const std::string& to, const std::string& store);

  // REQUIRES for these: Take succeeded.
  std::string Path(const std::string& name) const { return to_ + "/" + name; }
  const BackupManifest& complete() const { return complete_; }
  // The number of a moment of which nothing is there.
  uint64_t next_moment() const { return next_moment_; }
  // The files of `manifest` are there and synced: it takes the place of the one before. After an
  // error either may count, and the files of both stay until the next Take.
  Status Complete(BackupManifest manifest);
  // After a failure: nothing is left that was not there before, but for that.
  void Leave() const;

 private:
  Status Hold(const std::string& store);
  Status CheckDirectories() const;
  Status Clean() const;
  Status FindRemains();
  // Its text; of no bytes where there is none.
  Result<std::string> ReadManifest() const;
  Status SettleManifest(const std::string& text) const;

  StoreEnv* const env_;
  std::string to_;
  bool made_ = false;
  bool made_mark_ = false;  // STORE is its own.
  bool is_uncertain_ = false;
  int lock_ = -1;
  BackupManifest complete_;
  uint64_t next_moment_ = 1;
  // Of no manifest that tells: names of block files and moments.
  std::set<std::string> remains_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_TOOLS_BACKUP_DIRECTORY_H_
