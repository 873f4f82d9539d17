// Purger: removes from the disk, in the background, what deletes hide, then the deletes' records.
// Its own thread; it works in small batches through the committer, so requests wait for none of it
// for long. Until it is done readers go by the records (delete_ranges.h).
#ifndef TALLYD_STORAGE_LEVELDB_PURGER_H_
#define TALLYD_STORAGE_LEVELDB_PURGER_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "storage/group_committer.h"
#include "storage/leveldb/engine.h"

namespace tallyd {

class Purger {
 public:
  // Both outlive the purger. Starts its thread.
  Purger(Engine* engine, GroupCommitter* committer);
  ~Purger();
  Purger(const Purger&) = delete;
  Purger& operator=(const Purger&) = delete;

  // There may be something to do. Of any thread.
  void Wake();
  void Stop();  // Idempotent.

 private:
  void Run();
  Status PurgeAll();
  Status PurgeCluster(const KeyRange& rows, Lease* lease);
  Status AddEntry(std::string_view key, std::string_view value);
  Status Flush();
  bool stopping();

  Engine* const engine_;
  GroupCommitter* const committer_;

  // Of the thread: what is to be committed, and the ranges that are done with it.
  std::unique_ptr<LevelDbBatch> batch_;
  DeleteList done_;
  DeleteList cluster_;  // Ranges that overlap, newest first.
  uint64_t removed_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool awake_ = false;     // Guarded by mutex_.
  bool stopping_ = false;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_PURGER_H_
