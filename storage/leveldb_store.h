// The LevelDB engine: what a batch touches commits as one, to the newest head; heads become column
// blocks (docs/storage.md). Its layout on disk is storage/FORMAT.md.
//
// Writes: Submit queues; the committer's own thread takes all that waits, makes one WriteBatch, one
// synced Write, then tells every waiter. It is the only writer. Any failed write latches the
// engine: everything in flight fails, the files are closed and reopened (which rotates the log),
// then writing goes on by itself.
#ifndef TALLYD_STORAGE_LEVELDB_STORE_H_
#define TALLYD_STORAGE_LEVELDB_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "config/file/config.h"
#include "storage/event_teller.h"
#include "storage/store.h"

namespace prometheus {
class Registry;
}

namespace tallyd {

class CommitProgress;
class StoreEnv;

// Of the volume that holds a directory, in bytes.
struct VolumeSpace {
  uint64_t total = 0;
  uint64_t free = 0;
};
using MeasureVolume = std::function<VolumeSpace(const std::string& directory)>;

struct LevelDbStoreOptions {
  StorageConfig storage;
  const Clock* clock = nullptr;              // Required; outlives the store.
  prometheus::Registry* registry = nullptr;  // Required; outlives the store.
  StoreEnv* env = nullptr;  // Tests: faults and crashes. Null: the durable POSIX Env.
  CommitProgress* progress = nullptr;  // Told how it commits; outlives the store. Null: nobody is.
  // How serialized cells are read; null: nobody can tell whether events met in one.
  FieldsOfCell fields_of = nullptr;
  // Called on the committer's thread while a schema is adopted. Empty: yes.
  MayDropTable may_drop;
  MeasureVolume measure;    // Tests: full disks. Empty: what the file system says.
  // Rows of latest tables that one commit takes out at most; a delete of more is worked off in the
  // background.
  uint64_t rows_at_once = 2000;
  // Columns of a block of a file, at most; a row that has more at one time is in several. Not more
  // than this, which tests make small.
  uint32_t block_columns = 65'536;
};

// Opens or creates. Errors name the path: kConflict when another process has it open, when it has
// another format version, is another program's, or not restored to the end; kCorruption naming what
// is damaged; kNoSpace; kIo. Returns only when recovery is complete.
Result<std::unique_ptr<Store>> OpenLevelDbStore(const LevelDbStoreOptions& options);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_STORE_H_
