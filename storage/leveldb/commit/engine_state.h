// EngineState: what the engine keeps in memory of the database, and its loading at open and reopen.
#ifndef TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_STATE_H_
#define TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_STATE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include "config/values/result.h"
#include "storage/leveldb/catalogue/catalogue.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/files/database.h"
#include "storage/leveldb/latest/latest_group.h"
#include "storage/leveldb/latest/latest_tables.h"

namespace tallyd {

struct EngineState {
  Catalogue catalogue;
  ColumnRegistry sets;
  FieldCatalogue fields;
  LatestTables latest;
  LatestDeletes latest_deletes;
  uint64_t last_sequence = 0;  // Of the committer's thread.
  // Of what is in block files: deletes up to it hide nothing in heads.
  std::atomic<uint64_t> sealed_sequence = 0;
  std::atomic<uint64_t> next_file = 1;  // Numbers of block files are never given twice.
  // As it was persisted; of the thread that opens the store.
  std::optional<TimeUs> retention_time;
};

// What readers are admitted to.
struct LoadedView {
  BlockFileMap files;
  DeleteList deletes;
  std::map<uint64_t, FileNote> notes;  // By number of the file.
};

// Reads everything anew, base first, then the heads from the oldest on. kCorruption names the
// record that cannot be read. REQUIRES: the database is open.
Result<LoadedView> LoadEngineState(Database* database, EngineState* state);

// What a group that could not be committed would have made of latest rows: its log may have it all
// the same.
struct FailedGroup {
  uint64_t sequence = 0;  // The last of the group.
  LatestChanges latest;
  LatestTimes oldest;
};
// After a reopen by the process that had loaded it: reads all records but the latest rows, which
// are what they were, but for the group that failed (null: none did). Where that cannot be, it
// reads everything.
Result<LoadedView> ReloadEngineState(Database* database, EngineState* state, FailedGroup* failed);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_STATE_H_
