// Sealer: the store's work in the background, on one thread; and CompactBase and RemoveStrayRows,
// which keep base small. The work is a list of named jobs (SealJob), each asked in turn for one
// piece. Closed heads become block files; latest tables are swept of what has expired or was
// deleted; files that have expired are dropped, those of which deletes hide much are written again,
// those of a window are merged; damage that was met is noted; for a Settle base is compacted, too.
// Where heads come as fast as they are sealed, what deletes hide still goes: purging has its turn.
// It keeps to its share of a core (storage.seal_cpu) unless heads pile up or Settle waits, and
// sleeps until the next thing is due: idle, it looks up once a second, however many files.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_SEALER_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_SEALER_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "storage/catalogue/catalogue.h"
#include "storage/leveldb/files/database.h"
#include "storage/leveldb/seal/rewrite.h"
#include "storage/leveldb/seal/seal_context.h"

namespace tallyd {

class Sealer {
 public:
  // Of these parts, but for those that the sealer has itself. All outlive the sealer.
  explicit Sealer(const SealContext::Parts& parts);
  ~Sealer();
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;

  // Starts its thread, whose commits may Wake it: whoever passes that on has it by now.
  void Start();
  // There may be something to do. Of any thread.
  void Wake();
  // Does all that there is to do when it is called; then returns, or when some of that failed: the
  // rest is done, and what failed is tried again. kNoSpace, kIo and kCorruption say what; all else
  // is kUnavailable, also where the files cannot be opened for some seconds. Files that are known
  // to be damaged are no failure. Of any thread.
  Status Settle();
  void Stop();  // Idempotent.

 private:
  using Time = SealJob::Time;
  struct Entry {
    std::unique_ptr<SealJob> job;
    bool takes_turns = false;    // After a piece of work the others that do come first.
    bool is_never_last = false;  // It comes first once in some rounds, however much else there is.
    // Of a job that failed: when it is asked again, and what was logged of it.
    Time not_before;
    std::chrono::milliseconds pause{0};
    std::string logged;
    Time logged_at;
  };
  // What a round over all jobs came to.
  struct Round {
    Progress progress = Progress::kNone;
    std::optional<Error> failed;  // The first.
    bool reopening = false;       // There was no view, or no longer.
  };

  void AddJobs();
  void Run();
  Round WorkOnce();
  // Whether the job did something, which ends the round.
  bool Advance(Entry* entry, const ViewPtr& view, Round* round);
  // Nothing: it has nothing to do, or waits.
  std::optional<Result<Progress>> Ask(Entry* entry, const ViewPtr& view);
  void Fail(Entry* entry, const Error& error);
  void BeginSettle(const View& view);
  void EndSettle(Status result);
  Status ResultOf(const Round& round) const;
  void TellOfFailedHead();
  void NoteReopening(bool reopening);
  void Wait(const Round& round);
  bool stopping() const;
  bool settling() const;
  bool in_a_hurry() const;

  const StorageConfig config_;
  Engine* const engine_;
  Pacer pacer_;
  SealContext context_;
  std::vector<Entry> jobs_;  // Of the thread, like the ticket below.
  int rounds_ = 0;           // Since those that are never last came first.
  uint64_t settle_ticket_ = 0;
  // At the end of each round since the files were closed, or about to be.
  std::optional<Time> reopening_since_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool awake_ = false;  // Guarded by mutex_, like the next ones.
  bool stopping_ = false;
  uint64_t settle_asked_ = 0;  // Tickets.
  uint64_t settle_done_ = 0;
  Status settle_result_;

  std::thread thread_;
};

// Removes the latest rows of tables that the catalogue does not know: a crash leaves them between
// the two writes of a table's drop. Costs a seek for each table where there are none; otherwise as
// CompactBase.
Status RemoveStrayRows(Database* database, const Catalogue& catalogue,
                       const std::function<Status(const Records&)>& commit,
                       const std::function<bool()>& stopping);

// Compacts base to what it has to keep. A LevelDB table file keeps every version of a record that
// its memory table had, until it is compacted with another one that overlaps it, and compacting a
// range leaves the lowest files alone: the first and the last latest row of the range, written once
// more, make that other one. Range by range, so that a reopen, which waits for one of them, never
// waits for long. Of the sealer's thread, which alone writes latest rows to base.
//
// `commit` writes records to base, durably. `stopping` is asked between ranges; then, as after a
// reopen, the error is kCancelled or kUnavailable, and the rest is as it was.
Status CompactBase(Database* database, const std::function<Status(const Records&)>& commit,
                   const std::function<bool()>& stopping);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_SEALER_H_
