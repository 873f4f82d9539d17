// Sealer: turns closed heads into block files in the background, merges block files of a window,
// removes what deletes hide and what is past its age. One thread; what it makes is files first,
// then one commit through the committer that puts them in the place of what they were made from, so
// a crash at any point leaves each entry in one place.
//
// It keeps to its share of a core (storage.seal_cpu) unless heads pile up or Settle waits.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_SEALER_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_SEALER_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/group_committer.h"
#include "storage/leveldb/commit/engine.h"
#include "storage/leveldb/commit/leveldb_batch.h"
#include "storage/leveldb/seal/base_compaction.h"
#include "storage/leveldb/seal/rewrite.h"
#include "storage/retention_clock.h"

namespace tallyd {

class Sealer {
 public:
  // All outlive the sealer. Starts its thread.
  Sealer(const StorageConfig& config, RetentionClock* clock, Engine* engine,
         GroupCommitter* committer, StoreMetrics* metrics);
  ~Sealer();
  Sealer(const Sealer&) = delete;
  Sealer& operator=(const Sealer&) = delete;

  // There may be something to do. Of any thread.
  void Wake();
  // Seals, merges and purges all that there is when it is called; then returns, or when that
  // failed. Of any thread.
  Status Settle();
  void Stop();  // Idempotent.

 private:
  void Run();
  // One piece of work; *did tells whether there was any.
  Status Work(bool* did);
  void LogFailure(const std::string& message);
  void BeginSettle(const View& view);
  Status SealIfDue(const View& view, bool* did);
  Status SealAllDue();
  Status BeginHeadIfDue(const View& view, bool* did);
  Status SealHead(bool* did);
  Status DropFiles(const View& view, bool* did);
  Status Purge(const View& view, std::vector<BlockFilePtr>* due, bool* did);
  std::vector<BlockFilePtr> MergeDue(const View& view) const;
  Status Rewrite(std::vector<BlockFilePtr> from);
  Status CompactBase();
  bool IsExpired(const BlockFile& file) const;
  // Commits the records, then changes the view, as one.
  Status Publish(std::unique_ptr<LevelDbBatch> batch, std::function<void(View*)> change);
  Status CommitRecords(const Records& records);
  std::unique_ptr<LevelDbBatch> NewBatch() const;
  RewriteInput Input();
  bool stopping() const;
  bool settling() const;
  bool in_a_hurry() const;

  const StorageConfig config_;
  RetentionClock* const clock_;
  Engine* const engine_;
  GroupCommitter* const committer_;
  StoreMetrics* const metrics_;
  Pacer pacer_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool awake_ = false;  // Guarded by mutex_, like the next ones.
  bool stopping_ = false;
  uint64_t settle_asked_ = 0;  // Tickets.
  uint64_t settle_done_ = 0;
  Status settle_result_;

  // Of the thread, while it settles: for which ticket, and what there was when it began. What comes
  // meanwhile is not waited for.
  uint64_t settle_ticket_ = 0;    // 0: it does not.
  uint64_t settle_head_ = 0;      // The newest head to be sealed.
  uint64_t settle_sequence_ = 0;  // Of the newest files to be merged; 0: not sealed yet.

  std::chrono::steady_clock::time_point not_before_;  // Heads are not sealed in a merge.
  std::string logged_failure_;                        // Of the thread; the last line's.
  std::chrono::steady_clock::time_point logged_at_;

  std::thread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_SEALER_H_
