// Database: the files of a store, and who may use them when: base (a LevelDB with everything but
// the history's entries), the heads, and the block files. One thread (the committer's) opens,
// writes and closes; the sealer's thread adds heads; any thread reads through a Lease.
//
//   Open, load, AdmitReaders, Write..., Close.
//
// A Lease is one view with the published snapshot of each of its heads: what a commit writes is
// seen once it is whole, with its deletes, and no reader waits for a commit. Its reader takes a
// LeaseAccess for the time of one step; between steps the database may be closed under it, which
// revokes the lease: later LeaseAccesses are false, and the reader gives up with kUnavailable. So a
// reopen waits for one step of each reader, never for a slow client. Long steps ask must_stop() now
// and then. NewLease waits a moment for a reopen to finish.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_DATABASE_H_
#define TALLYD_STORAGE_LEVELDB_FILES_DATABASE_H_

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/leveldb/env/marked_env.h"
#include "storage/leveldb/files/opener.h"
#include "storage/leveldb/files/view.h"

namespace tallyd {

// What they are told who come between a close and an open, or whose files were closed under them.
inline Error Reopening() {
  return Error(ErrorCode::kUnavailable, "the store is reopening its files; try again");
}
// The same where no open follows.
inline Error Closing() { return Error(ErrorCode::kUnavailable, "the store is closing"); }

class Database;

class Lease {
 public:
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  friend class Database;
  friend class LeaseAccess;
  struct OfHead {
    HeadSnapshot snapshot;
    std::unique_ptr<leveldb::Iterator> iterator;
  };
  struct OfBase {
    std::shared_ptr<const leveldb::Snapshot> snapshot;
    std::unique_ptr<leveldb::Iterator> iterator;
  };
  // What is held, by the lease or until it is revoked.
  struct Held {
    std::mutex mutex;
    ViewPtr view;  // Guarded by mutex. Null: revoked.
    std::vector<OfHead> heads;
    OfBase base;  // Of a lease of a moment.

    void Release();  // REQUIRES: mutex.
  };
  explicit Lease(Database* database) : database_(database) {}

  Database* const database_;
  const std::shared_ptr<Held> held_ = std::make_shared<Held>();
};

class LeaseAccess {
 public:
  explicit LeaseAccess(Lease* lease) : lock_(lease->held_->mutex), lease_(lease) {}
  explicit operator bool() const { return lease_->held_->view != nullptr; }

  const View& view() const { return *lease_->held_->view; }
  leveldb::DB& base() const;
  // An iterator over the snapshot of a head; lives as long as the lease; made at first use.
  leveldb::Iterator& iterator(size_t head) const;
  // What a closed head holds as runs, where it holds all of a table's entries so; null where some
  // have keys of their own, or cannot be read. Lives until the lease is revoked or gone.
  const HeadEntries* RunsOf(size_t head, TableId table) const;
  // The same over base: over the snapshot of a lease of a moment, or as base is at first use.
  leveldb::Iterator& base_iterator() const;
  bool must_stop() const;

 private:
  std::unique_lock<std::mutex> lock_;
  Lease* lease_;
};

// The memos that a lease has: of one key the newest head that tells of it counts, and base where no
// head does. Base may be newer than the lease: the caller sees what was committed before, or later.
Result<std::optional<std::string>> FindMemo(Lease* lease, std::string_view key);
// Keys with their values, in key order, as Store::Memos.
Result<std::vector<std::pair<std::string, std::string>>> ListMemos(Lease* lease,
                                                                   std::string_view prefix,
                                                                   size_t limit,
                                                                   std::string_view after);

// What a commit brings to the newest head.
struct HeadWrite {
  leveldb::WriteBatch* batch = nullptr;
  std::shared_ptr<EntryRun>
      entries;            // Of the history, which the head stores as it can; null: none.
  uint64_t sequence = 0;  // The last of the group.
  // The last one before the group: a head that begins with it says so. Nothing: it does not.
  std::optional<uint64_t> after;
  TableTimes times;    // Of the entries in it.
  DeleteList deletes;  // In it, oldest first.
  bool sync = false;
  // Called with the number of the head before it is written: adds what only that head needs.
  std::function<void(uint64_t head)> prepare;
};

class Database {
 public:
  // `env` outlives the database.
  Database(const StorageConfig& config, StoreEnv* env);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Of the committer's thread. Open: base, the heads that base does not call sealed, no block
  // files; refuses what cannot be what was left (opener.h).
  Status Open(size_t head_bytes);
  // The same over changes that stay in memory, for readers alone: where the disk has no room for
  // what a recovery writes. Every write fails with kNoSpace until the next Open.
  Status OpenToRead(size_t head_bytes);
  // When what is held in memory of it was loaded.
  void AdmitReaders(const BlockFileMap& files, const DeleteList& deletes);
  void Close();  // Revokes every lease.
  bool is_open() const { return base_ != nullptr; }
  // What the last Open found, whosever it is: the id of the store, and the last sequence that base
  // and the heads record. After the first Open another id than the shelf's is another store's.
  const std::string& opened_store() const { return opened_store_; }
  Result<uint64_t> LastSequence() const;
  Status WriteBase(leveldb::WriteBatch* batch);  // Synced.
  // Calls `publish` after success, then lets readers see the write: both before the head can be
  // closed, so that whoever seals it finds in memory what it says.
  Status WriteHead(const HeadWrite& write, const std::function<void()>& publish);
  // Of base; kNotFound if absent. Also under a LeaseAccess, of any thread.
  Result<std::string> Get(std::string_view key) const;
  // Of base's records, or a head's as they lie in its LevelDB, without a snapshot. Must be gone
  // before Close.
  static std::unique_ptr<leveldb::Iterator> NewIterator(leveldb::DB* db);
  // What a range of keys takes of a LevelDB's table files, about: its log and memory do not count.
  static uint64_t BytesOf(leveldb::DB* db, std::string_view start, std::string_view end);
  leveldb::DB* base() { return base_.get(); }
  const std::vector<std::shared_ptr<Head>>& opened_heads() const { return heads_; }
  uint64_t newest_head_bytes() const { return newest_bytes_.load(std::memory_order_relaxed); }

  // Of the sealer's thread, or the committer's between two commits: a new head for what comes next.
  // What is in the head before it is synced first. False when the newest head is empty. Of two who
  // call at once one is told kUnavailable, or that the next head is in use. `room`: of its log.
  Result<bool> BeginHead(const LogRoom& room = {});
  // Closes and removes the dropped heads and files that nobody holds any more. Open and Close do
  // it, too.
  void Dispose();

  // Of any thread.
  // What was written to the newest head before; no write comes between.
  Status SyncNewestHead();
  // Whether the last write to the newest head failed, whoever made it: until the files are opened
  // anew none succeeds.
  bool HasFailedHead();
  // kUnavailable when it is closed and stays so for a moment.
  Result<std::unique_ptr<Lease>> NewLease();
  // Of base and the block files: the heads go while it is held.
  Result<std::unique_ptr<Lease>> NewLeaseOfFiles();
  // With a snapshot of base that knows what the heads build on, and nothing of what comes to them
  // later. Its records of block files may differ from the view while the sealer changes both.
  Result<std::unique_ptr<Lease>> NewLeaseOfMoment();
  ViewPtr view() const;  // Null when closed.
  // Of the latest view, which may be closed by now. The committer's thread alone changes it.
  uint64_t opening() const { return opening_; }
  // Replaces the view by what `change` makes of a copy, for which no reader waits. Nothing when it
  // was closed meanwhile.
  void ChangeView(const std::function<void(View*)>& change);
  bool closing() const { return closing_.load(std::memory_order_relaxed); }
  const std::string& path() const { return config_.path; }
  StoreEnv* env() { return &env_; }
  BlockFileShelf& shelf() { return shelf_; }
  // Ends of logs that a crash left incomplete, found since the process began.
  std::vector<TornTail> torn_tails() const { return opener_.torn_tails(); }

 private:
  friend class Lease;
  friend class LeaseAccess;
  void Take(OpenedFiles opened);
  // Adds what the newest head says of itself with the first commit of each opening, so that no log
  // of another store passes for one of its own.
  void Introduce(const Head& head, const HeadWrite& write);
  // Makes `change` and the newest head's snapshot, if there is one, visible at once.
  void PublishView(const std::function<void(View*)>& change, Head* head, HeadSnapshot snapshot);
  // REQUIRES: `lock` holds mutex_.
  Status WaitForView(std::unique_lock<std::mutex>* lock);

  const StorageConfig config_;
  MarkedEnv env_;
  const std::unique_ptr<leveldb::Cache> cache_;
  BlockFileShelf shelf_;
  Disposer disposer_;
  Opener opener_;
  std::unique_ptr<leveldb::DB> base_;
  std::string opened_store_;
  bool knows_store_ = false;  // It was opened to be written to: the id is on the disk.
  std::atomic<bool> closing_{false};
  std::atomic<uint64_t> opening_{0};

  std::mutex write_mutex_;                    // Between opening, writes to a head, and BeginHead.
  std::vector<std::shared_ptr<Head>> heads_;  // As opened, then the newest only.
  Status head_status_;                        // Of the last write to the newest.
  uint64_t introduced_ = 0;                   // The head that has said what it is; 0: none.

  std::atomic<uint64_t> newest_bytes_{0};

  std::mutex change_mutex_;  // Of who makes a new view. After write_mutex_.

  // Of who takes the view: held for moments only. After all others.
  mutable std::mutex mutex_;
  std::condition_variable opened_;
  ViewPtr view_;                                 // Guarded by mutex_; null while closed.
  std::set<std::shared_ptr<Lease::Held>> held_;  // Guarded by mutex_.

  // Where it was opened to read; outlives what is open.
  struct InMemory;
  std::unique_ptr<InMemory> in_memory_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_DATABASE_H_
