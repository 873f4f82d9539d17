// LatestRestorer: after a removal of events it brings the stream's latest rows back to what history
// still implies: where the newest value of a column was removed, the one before it is put.
//
// 1. The removal's batch has a note of what it took (removal_note.h), which goes when all is done:
//    a restart goes on from it. What the rows had is kept in memory (lost_cells.h).
// 2. A table of the stream that is whole (service/fill/fill_wish.h) is read backwards from the
//    removed range on, in slices of time, until everything that was lost was found, or to its
//    beginning.
// 3. A latest table lets no older cell go over a newer one, so whatever comes meanwhile is in
//    nobody's way, but what is of the same time: each batch is refused that others came before
//    (Store::CommitUnlessTouched), and no removal of events may begin between the reading and the
//    commit (RemovalGate).
// 4. Of latest tables that are out of the file the note stays, and tells which: they are seen to
//    when they are back. One of which rows alone were deleted stays without what it lost where that
//    may have been since.
//
//   LatestRestorer restorer(parts);
//   restorer.Open();                                   // The store is open.
//   restorer.Start();                                  // A thread of its own; Stop ends it.
//   auto task = restorer.NewTask(note); ... task->lost; restorer.PutNote(*task, batch);
//   restorer.Add(std::move(task));                     // Whatever became of the batch.
//
// Thread-safe. What Parts name outlives it.
#ifndef TALLYD_SERVICE_REMOVAL_LATEST_RESTORER_H_
#define TALLYD_SERVICE_REMOVAL_LATEST_RESTORER_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "service/live_schema.h"
#include "service/removal/lost_cells.h"
#include "service/removal/removal_note.h"
#include "service/write/writer.h"

namespace tallyd {

struct RestoreTask {
  RemovalNote note;
  // Of each latest table what may be lost; nothing of a table: nobody knows.
  std::map<TableId, LostCells> lost;
  // For a table that was out of the file, or for a restart: rows of the table alone may have been
  // deleted since, which history has all the same.
  bool has_waited = false;
};

class LatestRestorer {
 public:
  struct Parts {
    Store* store = nullptr;
    const Clock* clock = nullptr;
    const LiveSchema* live_schema = nullptr;
    Writer* writer = nullptr;
    int64_t slice_us = 15 * 60 * kUsPerSecond;  // The first slice; sparse ones grow.
    // For tests: called before each batch is committed.
    std::function<void()> before_commit = {};
  };

  explicit LatestRestorer(Parts parts) : parts_(std::move(parts)) {}
  ~LatestRestorer() { Stop(); }
  LatestRestorer(const LatestRestorer&) = delete;
  LatestRestorer& operator=(const LatestRestorer&) = delete;

  Status Open();
  void Start();
  void Stop();  // Idempotent.

  std::unique_ptr<RestoreTask> NewTask(RemovalNote note);
  static void PutNote(const RestoreTask& task, Batch* batch);
  void Add(std::unique_ptr<RestoreTask> task);

  // What the thread does: works off what there is. An error: it is to be tried again.
  Status Look();
  size_t pending() const;
  size_t waiting() const;  // For tables that are out of the file.

 private:
  void Run();
  void TakeWaiting();
  // False: it waits for tables that are out of the file. REQUIRES: work_mutex_.
  Result<bool> Restore(RestoreTask* task);

  const Parts parts_;
  std::atomic<uint64_t> next_number_ = 1;
  std::atomic<bool> stopping_ = false;

  std::mutex work_mutex_;  // Of whoever works; guards the next.
  std::shared_ptr<const SchemaSnapshot> seen_;  // By which those that wait were put aside.
  mutable std::mutex mutex_;
  // Guarded by mutex_. Of `tasks_` the first is worked on.
  std::deque<std::unique_ptr<RestoreTask>> tasks_;
  std::deque<std::unique_ptr<RestoreTask>> waiting_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_REMOVAL_LATEST_RESTORER_H_
