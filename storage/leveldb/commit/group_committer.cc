#include "storage/leveldb/commit/group_committer.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace tallyd {
namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(50);
constexpr auto kLongestPause = std::chrono::milliseconds(1000);

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What waiters are told of a failure that is not their fault.
Error ForWaiters(const Error& error) {
  if (error.code() == ErrorCode::kNoSpace) return error;
  // Another content, or somebody else, is in the directory: trying again does not help.
  if (error.code() == ErrorCode::kConflict) return Error(ErrorCode::kUnavailable, error.message());
  return Error(ErrorCode::kUnavailable,
               "the store is recovering from a failed write (" + error.message() + "); try again");
}

prometheus::Counter& MakeCounter(prometheus::Registry& registry, const char* name,
                                 const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Counter& CellCounter(prometheus::Registry& registry, const char* reason) {
  return prometheus::BuildCounter()
      .Name("tallyd_gc_cells_total")
      .Help("Cells that were left out when heads were sealed and files written again.")
      .Register(registry)
      .Add({{"reason", reason}});
}

prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Histogram& MakeHistogram(prometheus::Registry& registry, const char* name,
                                     const char* help,
                                     const prometheus::Histogram::BucketBoundaries& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

}  // namespace

StoreMetrics::StoreMetrics(prometheus::Registry& registry)
    : commits(MakeCounter(registry, "tallyd_commits_total", "Groups of batches committed.")),
      commit_failures(MakeCounter(registry, "tallyd_commit_failures_total",
                                  "Groups that could not be written.")),
      committed_bytes(MakeCounter(registry, "tallyd_committed_bytes_total",
                                  "Bytes of keys and values committed.")),
      group_batches(MakeHistogram(registry, "tallyd_commit_group_batches",
                                  "Batches that one commit took.",
                                  {1, 2, 4, 8, 16, 32, 64, 128, 256})),
      commit_seconds(
          MakeHistogram(registry, "tallyd_commit_seconds", "Write and fsync of one group.",
                        {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5})),
      queue_bytes(MakeGauge(registry, "tallyd_commit_queue_bytes",
                            "Bytes of batches that wait to be committed.")),
      queue_batches(
          MakeGauge(registry, "tallyd_commit_queue_batches", "Batches that wait to be committed.")),
      queue_full(MakeCounter(registry, "tallyd_commit_queue_full_total",
                             "Batches refused because the queue was full.")),
      reopens(MakeCounter(registry, "tallyd_store_reopens_total",
                          "Times the files were closed and reopened after a failed write.")),
      fsync_seconds(MakeCounter(registry, "tallyd_fsync_seconds_total", "Seconds spent in fsync.")),
      fsyncs(MakeCounter(registry, "tallyd_fsyncs_total", "Calls of fsync.")),
      sealed_entries(MakeCounter(registry, "tallyd_store_sealed_entries_total",
                                 "Entries moved from heads into column blocks.")),
      sealed_heads(
          MakeCounter(registry, "tallyd_store_sealed_heads_total", "Heads that were sealed.")),
      merged_entries(MakeCounter(registry, "tallyd_store_merged_entries_total",
                                 "Entries written again when block files were merged.")),
      sealed_bytes(MakeCounter(registry, "tallyd_store_sealed_bytes_total",
                               "Bytes of block files that heads became.")),
      merged_bytes(MakeCounter(registry, "tallyd_store_merged_bytes_total",
                               "Bytes of block files that other block files became.")),
      stalls(MakeCounter(registry, "tallyd_store_stalls_total",
                         "Writes that were held up because compaction did not keep up.")),
      expired_files(MakeCounter(registry, "tallyd_expired_files_total",
                                "Block files dropped whole because all of their cells had "
                                "expired, or their table was dropped.")),
      expired_bytes(MakeCounter(registry, "tallyd_expired_bytes_total", "Bytes of these files.")),
      capped_files(MakeCounter(registry, "tallyd_capped_files_total",
                               "Block files dropped whole because their table took more than its "
                               "max_bytes.")),
      capped_bytes(MakeCounter(registry, "tallyd_capped_bytes_total", "Bytes of these files.")),
      capped_cuts(MakeCounter(registry, "tallyd_capped_cuts_total",
                              "Times the oldest part of a table's only window was deleted because "
                              "it took more than max_bytes.")),
      aged_cells(CellCounter(registry, "age")),
      outdated_cells(CellCounter(registry, "versions")),
      overwritten_cells(CellCounter(registry, "overwritten")),
      deleted_cells(CellCounter(registry, "deleted")),
      swept_rows(MakeCounter(registry, "tallyd_gc_latest_rows_total",
                             "Rows of latest tables out of which something expired or deleted was "
                             "taken.")) {}

void StoreMetrics::CountDropped(const DroppedCells& dropped) {
  aged_cells.Increment(static_cast<double>(dropped.aged));
  outdated_cells.Increment(static_cast<double>(dropped.outdated));
  overwritten_cells.Increment(static_cast<double>(dropped.overwritten));
  deleted_cells.Increment(static_cast<double>(dropped.deleted));
}

GroupCommitter::GroupCommitter(const StorageConfig& config, CommitTarget* target,
                               StoreMetrics* metrics, CommitProgress* progress)
    : config_(config),
      target_(target),
      metrics_(metrics),
      progress_(progress != nullptr ? progress : &unwatched_),
      last_sync_(std::chrono::steady_clock::now()),
      thread_([this] { Run(); }) {}

GroupCommitter::~GroupCommitter() { Close(); }

void GroupCommitter::Submit(std::unique_ptr<Batch> batch, CommitDone done) {
  Status admitted = target_->Admit(*batch);
  const size_t bytes = target_->BytesOf(*batch);
  {
    const std::lock_guard lock(mutex_);
    if (closing_) {
      admitted = Error(ErrorCode::kUnavailable, "the store is closed");
    } else if (latched_) {
      admitted = ForWaiters(*latched_);
    } else if (admitted && !queue_.empty() && queued_bytes_ + bytes > config_.queue_bytes) {
      metrics_->queue_full.Increment();
      const unsigned seconds =
          drained_.SecondsFor(queued_bytes_, std::chrono::steady_clock::now());
      admitted = Error(ErrorCode::kOverloaded, "the write queue is full; try again")
                     .RetryAfter(seconds);
    }
    if (admitted) {
      queued_bytes_ += bytes;
      queue_.push_back({std::move(batch), std::move(done), bytes});
      metrics_->queue_bytes.Set(static_cast<double>(queued_bytes_));
      metrics_->queue_batches.Set(static_cast<double>(queue_.size()));
    }
  }
  if (admitted) {
    changed_.notify_one();
  } else {
    done(admitted);
  }
}

Status GroupCommitter::Commit(std::unique_ptr<Batch> batch,
                              const std::function<void()>& on_success) {
  return WaitForCommit([&](CommitDone done) {
    Submit(std::move(batch), [&on_success, done = std::move(done)](Status status) {
      if (status && on_success) on_success();
      done(std::move(status));
    });
  });
}

GroupCommitter::State GroupCommitter::GetState() const {
  State state;
  const Status admitted = target_->Admit();
  const std::lock_guard lock(mutex_);
  if (!admitted) state.reason = admitted.error().message();
  if (latched_) state.reason = latched_->message();
  if (closing_) state.reason = "the store is closed";
  state.writable = admitted && !latched_ && !closing_;
  state.queued_bytes = queued_bytes_;
  state.queued_batches = queue_.size();
  return state;
}

void GroupCommitter::Close() {
  const std::lock_guard one(close_mutex_);
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GroupCommitter::Run() {
  std::unique_lock lock(mutex_);
  bool goes_on = true;
  while (goes_on) {
    WaitForWork(&lock);
    progress_->Begin();
    goes_on = Step(&lock);
    progress_->End();
  }
}

// REQUIRES: mutex_ is held by *lock. False: it was the last.
bool GroupCommitter::Step(std::unique_lock<std::mutex>* lock) {
  if (latched_) {
    if (closing_) return false;
    TryRecover(lock);
  } else if (!queue_.empty()) {
    std::deque<Request> group = TakeGroup();
    lock->unlock();
    CommitGroup(std::move(group));
    lock->lock();
  } else if (unsynced_ && (closing_ || SyncIsDue())) {
    SyncIdle(lock);
  } else if (closing_) {
    return false;
  }
  return true;
}

void GroupCommitter::WaitForWork(std::unique_lock<std::mutex>* lock) {
  const auto idle = [&] { return queue_.empty() && !closing_; };
  if (!idle()) return;
  if (latched_) {
    changed_.wait_for(*lock, pause_, [&] { return closing_; });
  } else if (unsynced_) {
    const auto due = last_sync_ + std::chrono::microseconds(config_.sync_interval_us);
    changed_.wait_until(*lock, due, [&] { return !idle(); });
  } else {
    changed_.wait(*lock, [&] { return !idle(); });
  }
}

// REQUIRES: mutex_.
std::deque<GroupCommitter::Request> GroupCommitter::TakeGroup() {
  std::deque<Request> group;
  size_t bytes = 0;
  bool alone = false;
  while (!queue_.empty() && !alone &&
         (group.empty() || bytes + queue_.front().bytes <= config_.group_bytes)) {
    alone = target_->CommitsAlone(*queue_.front().batch);
    if (alone && !group.empty()) break;
    bytes += queue_.front().bytes;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  queued_bytes_ -= bytes;
  metrics_->queue_bytes.Set(static_cast<double>(queued_bytes_));
  metrics_->queue_batches.Set(static_cast<double>(queue_.size()));
  return group;
}

void GroupCommitter::CommitGroup(std::deque<Request> group) {
  std::vector<Batch*> batches;
  uint64_t bytes = 0;
  std::erase_if(group, [&](Request& request) {
    const Status checked = target_->Check(*request.batch);
    if (checked) {
      batches.push_back(request.batch.get());
    } else {
      request.done(checked);
    }
    return !checked;
  });
  if (batches.empty()) return;
  const Status committed = Write(batches, config_.sync == Sync::kAlways || SyncIsDue());
  if (committed) {
    for (const Request& request : group) bytes += request.bytes;
    const std::lock_guard lock(mutex_);
    drained_.Note(bytes, std::chrono::steady_clock::now());
  } else {
    Latch(committed.error());
  }
  const Status answer = committed ? committed : Status(ForWaiters(committed.error()));
  for (Request& request : group) request.done(answer);
}

Status GroupCommitter::Write(std::span<Batch* const> batches, bool sync) {
  const Time start = std::chrono::steady_clock::now();
  const Status committed = target_->Commit(batches, sync);
  if (!committed) {
    metrics_->commit_failures.Increment();
    return committed;
  }
  unsynced_ = !sync;
  if (sync) last_sync_ = std::chrono::steady_clock::now();
  metrics_->commits.Increment();
  metrics_->committed_bytes.Increment(static_cast<double>(target_->CommittedBytes()));
  metrics_->commit_seconds.Observe(SecondsSince(start));
  metrics_->group_batches.Observe(static_cast<double>(batches.size()));
  return {};
}

bool GroupCommitter::SyncIsDue() const {
  return std::chrono::steady_clock::now() - last_sync_ >=
         std::chrono::microseconds(config_.sync_interval_us);
}

// REQUIRES: mutex_ is held by *lock.
void GroupCommitter::SyncIdle(std::unique_lock<std::mutex>* lock) {
  lock->unlock();
  const Status synced = Write({}, true);
  if (!synced) Latch(synced.error());
  lock->lock();
}

// What is queued is answered, too: it would wait for nobody knows how long.
void GroupCommitter::Latch(const Error& error) {
  spdlog::error("store: a write failed, reopening: {}", error.message());
  std::deque<Request> refused;
  {
    const std::lock_guard lock(mutex_);
    latched_ = error;
    unsynced_ = false;
    pause_ = std::chrono::milliseconds(0);
    refused.swap(queue_);
    queued_bytes_ = 0;
    metrics_->queue_bytes.Set(0);
    metrics_->queue_batches.Set(0);
  }
  for (Request& request : refused) request.done(ForWaiters(error));
}

void GroupCommitter::TryRecover(std::unique_lock<std::mutex>* lock) {
  lock->unlock();
  const Status recovered = target_->Recover();
  lock->lock();
  if (recovered) {
    latched_.reset();
    last_sync_ = std::chrono::steady_clock::now();
    spdlog::info("store: writing again");
    return;
  }
  if (latched_->message() != recovered.error().message()) {
    spdlog::warn("store: not writable yet: {}", recovered.error().message());
  }
  latched_ = recovered.error();
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
}

}  // namespace tallyd
