// EngineState: what the engine keeps in memory of the database, and its loading at open and reopen;
// and EnginePast, what is read of the database beside it when a schema is adopted. Each part says
// which threads may use it; loading is of the thread that drives the engine, which has others help.
#ifndef TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_STATE_H_
#define TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_STATE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/catalogue/adoption.h"
#include "storage/catalogue/catalogue.h"
#include "storage/leveldb/catalogue/delete_range.h"
#include "storage/leveldb/catalogue/merge_counts.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/files/database.h"
#include "storage/leveldb/files/stray_file.h"
#include "storage/leveldb/latest/latest_group.h"
#include "storage/leveldb/latest/latest_tables.h"
#include "storage/leveldb_store.h"

namespace tallyd {

struct EngineState {
  Catalogue catalogue;
  ColumnRegistry sets;
  FieldCatalogue fields;
  MergeCounts merges;
  LatestTables latest{sets};
  LatestDeletes latest_deletes;
  RowWatches watches;
  std::atomic<uint64_t> last_sequence = 0;  // Changed by the committer's thread.
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
  uint64_t sealed_head = 0;
  std::map<uint64_t, HeadNote> head_notes;  // By number of the head.
};
// What base names of all that, and which heads are open.
FilesOnRecord RecordOf(const LoadedView& loaded, Database* database);

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

// EnginePast: what the tables of a schema that is adopted hold (catalogue/adoption.h), from the
// records of block files, what heads remember of themselves, and the heads' entries where they do
// not: those that an earlier process wrote. Of the committer's thread, between two commits.
class EnginePast final : public StoredPast {
 public:
  // All outlive it. `may_drop`: see LevelDbStoreOptions; empty: nothing waits elsewhere.
  EnginePast(Database* database, EngineState* state, TimeUs now, const MayDropTable& may_drop = {})
      : database_(database),
        state_(state),
        may_drop_(may_drop),
        tables_(state->catalogue.Tables()),
        view_(database->view()),
        now_(now) {}

  uint64_t sequence() const override { return state_->last_sequence; }
  TimeUs now() const override { return now_; }
  bool EverTook(std::string_view stream) override { return !state_->fields.Fields(stream).empty(); }
  bool IsEmpty(const TableInfo& table) override;
  bool MayDrop(const TableInfo& table) override {
    return IsEmpty(table) && (!may_drop_ || may_drop_(table));
  }
  TimeUs EndOf(const TableInfo& table) override;
  bool TookSince(const TableInfo& table, uint64_t sequence) override;

 private:
  using UseEntry = std::function<bool(const EntryKey& entry)>;
  // Calls `use` for the table's entries in a head until it returns false. True where a head cannot
  // be read: then nothing is known.
  bool FailsToRead(Head& head, TableId table, const UseEntry& use) const;
  bool HasEntries(TableId table) const;
  bool ShowsARow(const TableInfo& table) const;

  Database* const database_;
  EngineState* const state_;
  const MayDropTable may_drop_;
  const std::vector<TablePtr> tables_;
  const ViewPtr view_;
  const TimeUs now_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_COMMIT_ENGINE_STATE_H_
