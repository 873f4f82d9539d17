// Store: what an engine is to the layers above, whether it is LevelDB and column blocks
// (storage/leveldb_store.h) or a service elsewhere. Rows (storage/row_store.h), what is known
// beside them (storage/table_catalogue.h), and what an engine has or has not
// (storage/capabilities.h). What every store must do is tests/storage/conformance; which promise is
// the engine's and which the service's is docs/storage.md.
//
// Lifetime: open -> Connect -> Adopt(schema) -> NewBatch/Submit/Scan from any thread -> Close.
// Close drains what was submitted; after it Submit answers kUnavailable.
#ifndef TALLYD_STORAGE_STORE_H_
#define TALLYD_STORAGE_STORE_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/capabilities.h"
#include "storage/retention_clock.h"
#include "storage/row_store.h"
#include "storage/store_state.h"
#include "storage/table_catalogue.h"

namespace tallyd {

class Store : public RowStore, public TableCatalogue {
 public:
  virtual const Capabilities& capabilities() const = 0;

  // Of an engine elsewhere, where others may change what the file says: it is again as the schema
  // has it that was adopted. Nothing does that but a reload; a start finds it as it is.
  virtual Status SetAgain(const Schema& /*file*/) { return {}; }

  // Of an engine that is elsewhere: reaches it, and reads what it needs before a schema can be
  // adopted; waits so long for the first answer. kUnavailable: it is away, and may be asked again.
  // kInvalid, naming the key of the file: it will not have this daemon. Idempotent.
  virtual Status Connect(std::chrono::milliseconds /*patience*/) { return {}; }
  // From then on whoever waits for an engine that is elsewhere waits no more, and is told
  // kUnavailable: before Close, so that an end does not wait for who is away. Once.
  virtual void EndBy(std::chrono::steady_clock::time_point /*when*/) {}

  virtual StoreState State() = 0;
  // Why this daemon should be asked nothing, for now: State() says the same, with more words. A few
  // that name nothing, so that anybody may read them; empty: it is well. Never blocks.
  virtual std::string_view Trouble() { return {}; }

  // What has expired by this time may be gone for good (storage/retention_clock.h). Never later
  // than the wall clock.
  virtual TimeUs RetentionNow() = 0;
  // What State() tells of that clock, alone.
  virtual RetentionClock::State Retention() { return State().retention; }

  // Commits what is queued, refuses the rest, closes the files. Idempotent.
  virtual void Close() = 0;

  // What an engine may have not: as storage/capabilities.h says, or kConflict.
  Result<TablePtr> StageTable(const Table& table) {
    if (Staging* const staging = capabilities().staging) return staging->StageTable(table);
    return NoStages();
  }
  Status SwapStaged(const Table& table, TableId staged) {
    if (Staging* const staging = capabilities().staging) return staging->SwapStaged(table, staged);
    return NoStages();
  }
  Status DropStaged(std::string_view name) {
    if (Staging* const staging = capabilities().staging) return staging->DropStaged(name);
    return NoStages();
  }
  // Without staging nothing is staged.
  Result<std::vector<std::string>> StagedTables() {
    if (Staging* const staging = capabilities().staging) return staging->StagedTables();
    return std::vector<std::string>();
  }

  // Where nobody watches nothing is noted, and nothing is committed.
  std::shared_ptr<RowWatch> WatchRows(const TableInfo& table, TimeUs before) {
    if (Watching* const watching = capabilities().watching) {
      return watching->WatchRows(table, before);
    }
    return std::make_shared<RowWatch>(table.id, before);
  }
  Status CommitUnlessTouched(std::unique_ptr<Batch> batch, const std::shared_ptr<RowWatch>& watch) {
    if (Watching* const watching = capabilities().watching) {
      return watching->CommitUnlessTouched(std::move(batch), watch);
    }
    return Lacks("this engine does not tell what is written beside a reader");
  }

  Status CommitBehindLine(std::unique_ptr<Batch> batch, const CompleteBatch& complete) {
    if (Filling* const filling = capabilities().filling) {
      return filling->CommitBehindLine(std::move(batch), complete);
    }
    return NoFilling();
  }
  Status SetWhole(const TableInfo& table, TimeUs from) {
    if (Filling* const filling = capabilities().filling) return filling->SetWhole(table, from);
    return NoFilling();
  }

  Status Settle() {
    if (Settling* const settling = capabilities().settling) return settling->Settle();
    return Lacks("this engine leaves nothing for later that it could be told to do now");
  }
  Result<StoreMember::Members> Backup(const std::string& to, const std::atomic<bool>& stop) {
    if (BackupMaker* const backup = capabilities().backup) return backup->Backup(to, stop);
    return Lacks("this engine has backups of its own");
  }
  Status TrustClock() {
    if (ClockKeeper* const clock = capabilities().clock) return clock->TrustClock();
    return Lacks("this engine has no retention clock beside the wall clock");
  }

 private:
  static Error Lacks(std::string what) { return Error(ErrorCode::kConflict, std::move(what)); }
  static Error NoFilling() { return Lacks("this engine fills no tables"); }
  static Error NoStages() { return Lacks("this engine makes no tables behind their names"); }
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_STORE_H_
