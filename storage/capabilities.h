// Capabilities: what an engine can do beside keeping rows and a catalogue, each an interface of its
// own. An engine tells which it has, and never changes its mind while it is open. They are used
// through Store alone, which answers kConflict, in words for whoever asked, where the engine has
// none. What becomes of the daemon without each of them is told in docs/storage.md.
#ifndef TALLYD_STORAGE_CAPABILITIES_H_
#define TALLYD_STORAGE_CAPABILITIES_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/batch.h"
#include "storage/store_state.h"
#include "storage/table_info.h"

namespace tallyd {

class MergeWitness;  // storage/merge_witness.h

// A table is made anew behind its name.
class Staging {
 public:
  virtual ~Staging() = default;
  // Whether a table that is staged is apart from the one that has the name: then it is empty, and
  // what it replaces stays as it was for those who still read it. Elsewhere both are one in all but
  // their numbers: whoever makes it whole meets what is there, and changes what differs.
  virtual bool KeepsApart() const = 0;
  // A table of this shape that no reader finds by name, in place of one that was staged before;
  // whoever has it makes it whole. One that is in no schema that was adopted is orphaned after a
  // restart. kConflict: none can be made.
  virtual Result<TablePtr> StageTable(const Table& table) = 0;
  // The staged one, whose number is `staged` (0: there is none), and the one that has the name
  // change places at once, durable on return: a crash leaves either. So what is staged then is what
  // was replaced, and where nothing was staged the name is free. kConflict: another one is staged
  // by now.
  virtual Status SwapStaged(const Table& table, TableId staged) = 0;
  virtual Status DropStaged(std::string_view name) = 0;
  // The names behind which. What other daemons changed before the call is known behind it.
  virtual Result<std::vector<std::string>> StagedTables() = 0;
};

// Whoever writes what was read elsewhere does not put it over what came meanwhile.
class Watching {
 public:
  virtual ~Watching() = default;
  // Notes what is written to the table from then on, of cells older than `before`, and that
  // something of it was deleted, for as long as it is held.
  virtual std::shared_ptr<RowWatch> WatchRows(const TableInfo& table, TimeUs before) = 0;
  // Submits and waits. kConflict, and nothing is changed: since the watch was restarted somebody
  // wrote to a row and time of its table that the batch writes to, too, or deleted something of the
  // table; or a schema was adopted since the batch was made. The batch has a group of its own.
  virtual Status CommitUnlessTouched(std::unique_ptr<Batch> batch,
                                     const std::shared_ptr<RowWatch>& watch) = 0;
};

// `complete` is told the line before the batch is committed, on the store's thread, and may still
// add to the batch.
using CompleteBatch = std::function<void(uint64_t line, Batch* batch)>;

// Tables are made whole that were not (RuleMark::whole_from), of a history before a line.
class Filling {
 public:
  virtual ~Filling() = default;
  // Draws a line behind all that was committed so far and commits the batch right behind it; waits.
  // A line tells a scan (ScanSpec::line) for as long as the store lives what lies before it.
  virtual Status CommitBehindLine(std::unique_ptr<Batch> batch, const CompleteBatch& complete) = 0;
  // The table holds from this time on what its marks, as `table` has them, say is missing. Durable
  // on return. kConflict: they are others by now.
  virtual Status SetWhole(const TableInfo& table, TimeUs from) = 0;
};

// Leaves work for later: to seal, merge, purge, compact.
class Settling {
 public:
  virtual ~Settling() = default;
  // Does now what there is of it when it is called, and returns when it is done, however long that
  // takes.
  virtual Status Settle() = 0;
};

class BackupMaker {
 public:
  virtual ~BackupMaker() = default;
  // Puts all that is stored at one moment into the directory `to`, beside writes and reads; blocks
  // until it is complete, and tells what it took; kCancelled soon after `stop` is true. One at a
  // time: kConflict. Also where somebody else keeps backups.
  virtual Result<StoreMember::Members> Backup(const std::string& to,
                                              const std::atomic<bool>& stop) = 0;
};

// Has a retention clock that does not follow every jump of the wall clock.
class ClockKeeper {
 public:
  virtual ~ClockKeeper() = default;
  // Believes the wall clock from now on, however far it jumped. Durable on return.
  virtual Status TrustClock() = 0;
};

// Several daemons may have the store open: what only one of them may be at is claimed in it. A
// claim is somebody's, whose name is given once and never again, for kClaimLease, and longer as
// long as it is kept; who has it counts under it (Batch::CountUnder). All block; any thread.
class Claiming {
 public:
  static constexpr std::chrono::seconds kClaimLease{10};
  enum class Fate : uint8_t {
    kOwn,
    kOthers,   // Somebody else has it.
    kInDoubt,  // Whoever had it last may have counted under it, or not; so for a day.
  };
  struct Held {
    std::string key;
    std::string owner;
  };

  virtual ~Claiming() = default;
  virtual Result<Fate> Claim(const Held& claim) = 0;
  // What somebody else has taken meanwhile is left to them.
  virtual Status Keep(std::span<const Held> claims) = 0;
  virtual Status Release(std::span<const Held> claims) = 0;
  // Takes away, of some claims, those that have ended.
  virtual Status SweepClaims() = 0;
};

// Null, or false: the engine has it not. What is pointed to is the engine's.
struct Capabilities {
  std::string_view engine;     // Its name in the file.
  bool whole_batches = false;  // A batch is there as a whole or not at all (RowStore::Submit).
  bool aggregates = true;      // Has families that fold what is written to them.
  // Without whole batches: what they take of a batch that fails counts once all the same, or its
  // sender is told that nobody knows (kInDoubt).
  bool counts_once = false;
  int64_t most_added = kAnyAdded;  // To a sum at once, either way: more is refused.
  bool snapshots = false;          // A scan sees one moment of all of its rows (storage/scan.h).
  Staging* staging = nullptr;
  Watching* watching = nullptr;
  Filling* filling = nullptr;
  Settling* settling = nullptr;
  BackupMaker* backup = nullptr;
  ClockKeeper* clock = nullptr;
  Claiming* claiming = nullptr;  // Null: one daemon alone has the store.
  const MergeWitness* merge_witness = nullptr;
};

// Each by its name in /v1/status, and whether it is there.
std::vector<std::pair<std::string_view, bool>> NamesOf(const Capabilities& capabilities);

// kInvalid, a line for each key of a stream or table that needs what the engine has not.
Status CheckHolds(const Capabilities& capabilities, const Schema& schema);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_CAPABILITIES_H_
