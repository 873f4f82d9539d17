// GroupCommitter: requests that wait together commit together. Submit queues from any thread; one
// thread takes all that waits (up to group_bytes), has the target commit it as one, then tells
// every waiter. A lone request is not delayed; what arrives during a commit is the next group.
//
// A failed commit latches: everything in flight and queued is answered with why, new requests are
// refused at once, and the thread has the target recover, with growing pauses, until it succeeds.
// Then writing goes on by itself.
//
// With sync = interval the answer comes before the fsync; a commit is synced when the last one was
// sync_interval ago, and an idle target is synced by an empty commit.
//
// Beside it the instruments by which a store tells how it commits, and what becomes of commits.
#ifndef TALLYD_STORAGE_LEVELDB_COMMIT_GROUP_COMMITTER_H_
#define TALLYD_STORAGE_LEVELDB_COMMIT_GROUP_COMMITTER_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/commit_progress.h"
#include "storage/drain_rate.h"
#include "storage/store.h"

namespace tallyd {

// Cells that were not written again, by why.
struct DroppedCells {
  uint64_t aged = 0;         // Past max_age.
  uint64_t outdated = 0;     // Beyond max_versions.
  uint64_t overwritten = 0;  // By a later write to the same row, column and time.
  uint64_t deleted = 0;

  DroppedCells& operator+=(const DroppedCells& other) {
    aged += other.aged;
    outdated += other.outdated;
    overwritten += other.overwritten;
    deleted += other.deleted;
    return *this;
  }
};

// The instruments of a store that commits in groups, resolved once at start. Names are in
// docs/operations.md. Thread-safe as prometheus-cpp's are.
struct StoreMetrics {
  explicit StoreMetrics(prometheus::Registry& registry);

  prometheus::Counter& commits;           // tallyd_commits_total
  prometheus::Counter& commit_failures;   // tallyd_commit_failures_total
  prometheus::Counter& committed_bytes;   // tallyd_committed_bytes_total
  prometheus::Histogram& group_batches;   // tallyd_commit_group_batches
  prometheus::Histogram& commit_seconds;  // tallyd_commit_seconds: write and fsync of one group
  prometheus::Gauge& queue_bytes;         // tallyd_commit_queue_bytes
  prometheus::Gauge& queue_batches;       // tallyd_commit_queue_batches
  prometheus::Counter& queue_full;        // tallyd_commit_queue_full_total
  prometheus::Counter& reopens;           // tallyd_store_reopens_total
  prometheus::Counter& fsync_seconds;     // tallyd_fsync_seconds_total
  prometheus::Counter& fsyncs;            // tallyd_fsyncs_total
  prometheus::Counter& sealed_entries;    // tallyd_store_sealed_entries_total
  prometheus::Counter& sealed_heads;      // tallyd_store_sealed_heads_total
  prometheus::Counter& merged_entries;    // tallyd_store_merged_entries_total
  prometheus::Counter& sealed_bytes;      // tallyd_store_sealed_bytes_total
  prometheus::Counter& merged_bytes;      // tallyd_store_merged_bytes_total: written again
  prometheus::Counter& stalls;  // tallyd_store_stalls_total: writes that compaction held up
  // What was reclaimed. Of files that went whole:
  prometheus::Counter& expired_files;  // tallyd_expired_files_total
  prometheus::Counter& expired_bytes;  // tallyd_expired_bytes_total
  prometheus::Counter& capped_files;   // tallyd_capped_files_total: beyond max_bytes
  prometheus::Counter& capped_bytes;   // tallyd_capped_bytes_total
  prometheus::Counter& capped_cuts;    // tallyd_capped_cuts_total: oldest parts of newest windows
  // Of what was written again; of latest tables, in memory and on the disk:
  prometheus::Counter& aged_cells;         // tallyd_gc_cells_total{reason="age"}
  prometheus::Counter& outdated_cells;     // {reason="versions"}
  prometheus::Counter& overwritten_cells;  // {reason="overwritten"}
  prometheus::Counter& deleted_cells;      // {reason="deleted"}
  prometheus::Counter& swept_rows;         // tallyd_gc_latest_rows_total

  void CountDropped(const DroppedCells& dropped);
};

// What a committer drives; an engine.
class CommitTarget {
 public:
  virtual ~CommitTarget() = default;

  // Whoever submits calls these, from any thread and several at once; they are cheap.
  // Whether new requests may queue (there is space on the disk).
  virtual Status Admit() = 0;
  // Whether this one may: what frees space always may.
  virtual Status Admit(const Batch& batch) = 0;
  virtual size_t BytesOf(const Batch& batch) const = 0;

  // Only the committer's thread calls these.
  // Whether it must be a group of its own: all before it is then committed when it is checked.
  virtual bool CommitsAlone(const Batch&) const { return false; }
  // Whether this batch may be part of a group; an error refuses it alone.
  virtual Status Check(const Batch& batch) = 0;
  virtual Status Commit(std::span<Batch* const> group, bool sync) = 0;
  virtual size_t CommittedBytes() const = 0;  // By the last Commit.
  // After a failed Commit: OK when committing may resume; else why not, and it is called again.
  virtual Status Recover() = 0;
};

class GroupCommitter {
 public:
  struct State {
    bool writable = true;
    std::string reason;
    uint64_t queued_bytes = 0;
    uint64_t queued_batches = 0;
  };

  // All outlive the committer. Starts its thread. `progress`: who is told of each step that the
  // thread begins and ends; null: nobody.
  GroupCommitter(const StorageConfig& config, CommitTarget* target, StoreMetrics* metrics,
                 CommitProgress* progress = nullptr);
  ~GroupCommitter();
  GroupCommitter(const GroupCommitter&) = delete;
  GroupCommitter& operator=(const GroupCommitter&) = delete;

  void Submit(std::unique_ptr<Batch> batch, CommitDone done);
  // Submits and waits. `on_success` is called on the committer's thread when the batch is
  // committed: before the answer, and before the next group, which may depend on what it does. Not
  // from a CommitDone.
  Status Commit(std::unique_ptr<Batch> batch, const std::function<void()>& on_success = {});
  State GetState() const;
  // Commits what is queued, refuses what comes later, joins the thread. Idempotent.
  void Close();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Request {
    std::unique_ptr<Batch> batch;
    CommitDone done;
    size_t bytes = 0;
  };

  void Run();
  bool Step(std::unique_lock<std::mutex>* lock);
  void WaitForWork(std::unique_lock<std::mutex>* lock);
  std::deque<Request> TakeGroup();
  void CommitGroup(std::deque<Request> group);
  void SyncIdle(std::unique_lock<std::mutex>* lock);
  void Latch(const Error& error);
  void TryRecover(std::unique_lock<std::mutex>* lock);
  Status Write(std::span<Batch* const> batches, bool sync);
  bool SyncIsDue() const;

  const StorageConfig config_;
  CommitTarget* const target_;
  StoreMetrics* const metrics_;
  CommitProgress* const progress_;  // Never null.
  CommitProgress unwatched_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> queue_;  // Guarded by mutex_, like the next four.
  size_t queued_bytes_ = 0;
  DrainRate drained_;  // Of the queue.
  bool closing_ = false;
  std::optional<Error> latched_;

  // Only the committer's thread uses these.
  bool unsynced_ = false;
  Time last_sync_;
  std::chrono::milliseconds pause_{0};

  std::mutex close_mutex_;
  std::thread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_COMMIT_GROUP_COMMITTER_H_
