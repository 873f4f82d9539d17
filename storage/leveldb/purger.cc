#include "storage/leveldb/purger.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "storage/leveldb/entry_cells.h"
#include "storage/leveldb/key_codec.h"
#include "storage/leveldb/status.h"

namespace tallyd {
namespace {

constexpr size_t kBatchBytes = 256u << 10;
constexpr size_t kRangesPerPass = 256;
constexpr size_t kEntriesPerStep = 1024;  // Under one Access.
constexpr auto kPauseAfterFailure = std::chrono::seconds(1);

Error Stopped() { return Error(ErrorCode::kCancelled, "the store is closing"); }

}  // namespace

Purger::Purger(Engine* engine, GroupCommitter* committer)
    : engine_(engine), committer_(committer), thread_([this] { Run(); }) {}

Purger::~Purger() { Stop(); }

void Purger::Wake() {
  {
    const std::lock_guard lock(mutex_);
    awake_ = true;
  }
  changed_.notify_all();
}

void Purger::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Purger::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void Purger::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return awake_ || stopping_; });
    if (stopping_) return;
    awake_ = false;
    lock.unlock();
    const Status purged = PurgeAll();
    lock.lock();
    if (purged) continue;
    awake_ = true;
    changed_.wait_for(lock, kPauseAfterFailure, [&] { return stopping_; });
  }
}

Status Purger::PurgeAll() {
  // The list first: everything that its ranges hide is then in the lease's snapshot.
  DeleteList ranges = engine_->state().deletes.All();
  if (ranges.empty()) return {};
  const bool all = ranges.size() <= kRangesPerPass;
  if (!all) ranges.resize(kRangesPerPass);
  Result<std::unique_ptr<Lease>> lease = engine_->database().NewLease();
  if (!lease) return lease.error();
  batch_ = std::make_unique<LevelDbBatch>(engine_->state().fields);
  done_.clear();
  removed_ = 0;
  // Ranges that overlap go together: each entry is read once, whichever of them hides it.
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a->database.start < b->database.start; });
  for (size_t first = 0; first < ranges.size();) {
    KeyRange rows = ranges[first]->database;
    cluster_.clear();
    for (; first < ranges.size() && (cluster_.empty() || ranges[first]->database.start < rows.end);
         ++first) {
      rows.end = std::max(rows.end, ranges[first]->database.end);
      cluster_.push_back(ranges[first]);
    }
    const Status purged = PurgeCluster(rows, lease->get());
    if (!purged) return purged;
  }
  const Status flushed = Flush();
  if (!all) Wake();
  if (flushed) spdlog::debug("store: purged {} entries of {} deletes", removed_, ranges.size());
  return flushed;
}

Status Purger::PurgeCluster(const KeyRange& rows, Lease* lease) {
  // The newest first: it is the likeliest to hide an entry.
  std::sort(cluster_.begin(), cluster_.end(),
            [](const auto& a, const auto& b) { return a->sequence > b->sequence; });
  std::string next = rows.start;
  while (!next.empty()) {
    if (stopping()) return Stopped();
    {
      const Access access(lease);
      if (!access) return Error(ErrorCode::kUnavailable, "the store reopened its files");
      leveldb::Iterator& it = access.iterator();
      it.Seek(ToSlice(next));
      next.clear();
      for (size_t step = 0; it.Valid() && ToView(it.key()) < rows.end; it.Next()) {
        if (++step > kEntriesPerStep || batch_->bytes() > kBatchBytes) {
          next.assign(ToView(it.key()));
          break;
        }
        const Status added = AddEntry(ToView(it.key()), ToView(it.value()));
        if (!added) return added;
      }
      const Status status = FromLevelDb(it.status());
      if (!status) return status;
    }
    if (batch_->bytes() > kBatchBytes) {
      const Status flushed = Flush();
      if (!flushed) return flushed;
    }
  }
  for (const auto& range : cluster_) {
    batch_->DropRecord(DeleteKey(range->table, range->sequence));
    done_.push_back(range);
  }
  return {};
}

// What is left of an entry after every range of this pass: several can cover it, and the snapshot
// does not show what the pass has already done to it.
Status Purger::AddEntry(std::string_view key, std::string_view value) {
  EntryKey entry;
  if (!ParseEntryKey(key, &entry)) return Error(ErrorCode::kCorruption, "a key is malformed");
  DeleteList narrow;
  for (const auto& range : cluster_) {
    if (!range->CoversRow(entry.row_prefix)) continue;
    if (range->HidesEntry(entry.time, entry.sequence)) {
      batch_->DropRecord(key);
      ++removed_;
      return {};
    }
    if (range->HidesTime(entry.time, entry.sequence)) narrow.push_back(range);
  }
  if (narrow.empty()) return {};
  EntryCells cells;
  if (!DecodeEntry(engine_->state().sets, narrow.front()->table, value, &cells)) {
    return Error(ErrorCode::kCorruption, "a stored entry is malformed");
  }
  const auto hidden = [&](const ColumnRef& column) {
    return std::any_of(narrow.begin(), narrow.end(),
                       [&](const auto& range) { return range->HidesColumn(column); });
  };
  std::string left;
  if (!FilterEntry(&cells, hidden, &left)) return {};
  ++removed_;
  if (left.empty()) {
    batch_->DropRecord(key);
  } else {
    batch_->PutRecord(key, left);
  }
  return {};
}

Status Purger::Flush() {
  const Status committed = committer_->Commit(std::move(batch_));
  batch_ = std::make_unique<LevelDbBatch>(engine_->state().fields);
  if (!committed) return committed;
  for (const auto& range : done_) engine_->state().deletes.Remove(*range);
  done_.clear();
  return {};
}

}  // namespace tallyd
