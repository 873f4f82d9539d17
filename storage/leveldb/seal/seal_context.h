// What the sealer's jobs are (SealJob), and what they share (SealContext): the store, what Settle
// asks for, and the one way to make changes: files first, then one commit that puts them in the
// place of what they were made from, so that a crash at any point leaves each entry in one place.
// Of the sealer's thread.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_SEAL_CONTEXT_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_SEAL_CONTEXT_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/leveldb/commit/engine.h"
#include "storage/leveldb/commit/group_committer.h"
#include "storage/leveldb/commit/leveldb_batch.h"
#include "storage/leveldb/files/view.h"
#include "storage/leveldb/seal/rewrite.h"
#include "storage/retention_clock.h"

namespace tallyd {

// SealJob: one kind of the sealer's work, by name. The sealer asks its jobs in turn, each for one
// piece of work, on its own thread; a job that fails is asked again later, and holds no other up.
enum class Progress : bool { kNone, kSome };

class SealJob {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr Time kNever = Time::max();
  // When to look at what is due `left` from now by a clock that may stand still or be set: after a
  // minute at the latest.
  static Time LookAgain(TimeUs left) {
    // Nanoseconds do not hold what microseconds do: the lesser comes first.
    constexpr std::chrono::microseconds kLatest = std::chrono::minutes(1);
    return std::chrono::steady_clock::now() + std::min(std::chrono::microseconds(left), kLatest);
  }

  virtual ~SealJob() = default;
  virtual std::string_view name() const = 0;
  // Does one piece of work, if there is any. `view` is the state to begin with. Must cost next to
  // nothing where there is none, whatever the number of files.
  virtual Result<Progress> Work(const ViewPtr& view) = 0;
  // When there will be work by the mere passing of time, as the last Work saw it.
  virtual Time next() const { return kNever; }
};

// What there was when Settle was called: no more is waited for.
struct SettleGoal {
  bool active = false;
  uint64_t head = 0;      // The newest head to be sealed.
  uint64_t sequence = 0;  // Of the newest files to be merged; 0: not sealed yet.
  uint64_t number = 0;    // Each settling has another one.
};

class SealContext {
 public:
  struct Parts {
    const StorageConfig* config = nullptr;
    const Clock* clock = nullptr;
    RetentionClock* retention = nullptr;
    Engine* engine = nullptr;
    GroupCommitter* committer = nullptr;
    StoreMetrics* metrics = nullptr;
    Pacer* pacer = nullptr;
    std::function<bool()> stopping;
  };

  explicit SealContext(Parts parts) : parts_(std::move(parts)) {}

  const StorageConfig& config() const { return *parts_.config; }
  const Clock& clock() const { return *parts_.clock; }
  // By which what has expired may go from the disk.
  TimeUs retention_now() const { return parts_.retention->Now(); }
  Engine& engine() const { return *parts_.engine; }
  EngineState& state() const { return parts_.engine->state(); }
  Database& database() const { return parts_.engine->database(); }
  StoreMetrics& metrics() const { return *parts_.metrics; }
  GroupCommitter& committer() const { return *parts_.committer; }
  bool stopping() const { return parts_.stopping(); }
  // Between steps of work that is not urgent.
  void Pace() const { parts_.pacer->Pace(); }

  SettleGoal settle;

  // A block file that a call of the system failed to read is left for a while, and read again then,
  // or for the next Settle; nothing else waits for it. One that cannot be read for long is reported
  // as damaged.
  void SetAside(const BlockFile& file, const Error& error);
  bool IsSetAside(uint64_t number) const;
  // It was read. Of any that is not set aside, too.
  void NoteRead(uint64_t number) { aside_.erase(number); }
  // When the first of those that are set aside is to be read again.
  SealJob::Time next_of_aside() const;
  // What this settling had to leave; null: nothing.
  std::optional<Error> LeftBySettle() const;
  // Heads fill fast: what is not urgent may wait until then. The processor is needed.
  SealJob::Time burst_until = SealJob::Time::min();

  // What is decided from here on is decided by this view, or by later ones of the same opening:
  // once the files were opened anew, nothing of it is committed. Of the commits that failed before,
  // the files go that are not on record, once the view is one that knows.
  void BeginRound(const View& view);
  uint64_t opening() const { return opening_; }  // Of that view.

  RewriteInput Input(std::function<Status()> yield) const;
  std::unique_ptr<LevelDbBatch> NewBatch() const;
  // Before base names what was made without what deletes hide: of the newest head's, too, which an
  // fsync may not have covered yet, and a power cut must not undo the rest of their batches alone.
  Status SyncAppliedDeletes() const;
  // In pieces, so that no request waits for all of it; for what changes nothing by itself.
  Status CommitRecords(const Records& records) const;
  // kUnavailable, having written nothing, if the files were opened anew since the round began.
  // What the batch is to call right before (LevelDbBatch::CommitAlone) is called then.
  Status Commit(std::unique_ptr<LevelDbBatch> batch,
                const std::function<void()>& on_success = {}) const;
  // Replaces files by others, or by nothing, with the records of both and those of `batch`. What
  // was made for it goes again if it does not come about. `change`: what else the view becomes.
  // `merges`: what was found of events that fell on one cell.
  Status Replace(std::unique_ptr<LevelDbBatch> batch, const View::Files& from,
                 const View::Files& made, const std::function<void(View*)>& change,
                 const std::map<TableId, MergesFound>& merges = {});
  // Before work that writes about so many bytes and frees none until it is done. kNoSpace, having
  // written nothing, where they do not fit above the floor.
  Status NeedRoom(uint64_t bytes) const;
  // The same for work that frees more than it writes: it may take the reserve for that.
  Status NeedRoomToFree(uint64_t bytes) const;

 private:
  const Parts parts_;
  uint64_t opening_ = 0;
  // Files of commits that failed, the new ones and the old.
  View::Files uncertain_;
  struct Aside {
    Error error;  // The last.
    uint64_t tries = 0;
    uint64_t settle = 0;  // The number of the last settling that met it; 0: none.
    SealJob::Time since;  // The first of these tries.
    SealJob::Time until;
  };
  std::map<uint64_t, Aside> aside_;  // By number.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_SEAL_CONTEXT_H_
