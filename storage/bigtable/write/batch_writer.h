// BatchWriter: writes batches to Bigtable. Batches that wait together are written together:
//
// 1. Their notes that come first: where one cannot be written, no row of its batch is.
// 2. Their history rows, the rows of all batches side by side, one entry for a row.
// 3. Latest rows, of those batches whose history is all acknowledged: latest never runs ahead.
// 4. Rows of aggregate families, of those batches of which all else is acknowledged. What counts
//    is sent again under a token by which the service knows it, or not at all where it knows none;
//    a batch with a claim (Claiming) says in it first that it counts. One of which some has
//    counted, or may have, and not all is there, is kInDoubt.
// 5. Notes that come behind, of batches that are all there.
//
// With `whole_batches` a batch of several rows is written to the journal (journal/journal.h) behind
// 1, and what it has there goes behind 5. One that is not all there by then stays in the journal:
// it will be, and its error says so. What is found in the journal (Finish) goes the same way; it
// has its row there, and the lease of that is taken first. A batch that deletes is not in it:
// before it begins, all that was in the journal by then is finished.
//
// Several groups are under way at once, never two with one row or memo: a batch that would write to
// a row that another group has waits, and so do those behind it. A batch that deletes has a group
// of its own, and no other beside it. Of a row the batches count in the order in which they were
// submitted. Thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_WRITE_BATCH_WRITER_H_
#define TALLYD_STORAGE_BIGTABLE_WRITE_BATCH_WRITER_H_

#include <atomic>
#include <boost/unordered/unordered_flat_set.hpp>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/bigtable/batch/bigtable_batch.h"
#include "storage/bigtable/catalogue/bigtable_catalogue.h"
#include "storage/bigtable/catalogue/claim_rows.h"
#include "storage/bigtable/journal/journal.h"
#include "storage/bigtable/write/found_batch.h"
#include "storage/bigtable/write/group_journal.h"
#include "storage/bigtable/write/waiting_batch.h"
#include "storage/row_store.h"

namespace tallyd {

class BatchWriter {
 public:
  // All outlive the writer.
  struct Parts {
    BigtableClient* client = nullptr;
    BigtableCatalogue* catalogue = nullptr;
    ClaimRows* claims = nullptr;
    Journal* journal = nullptr;
    BatchFinder* finder = nullptr;
    const Clock* clock = nullptr;
    int64_t grain_us = kUsPerMs;
  };
  explicit BatchWriter(const Parts& parts);
  ~BatchWriter() { Close(); }

  void Submit(std::unique_ptr<BigtableBatch> batch, CommitDone done);
  // REQUIRES: it has a batch.
  void Finish(FoundBatch found, CommitDone done);
  // What this daemon left in the journal.
  UnfinishedCells& unfinished() { return group_journal_.unfinished(); }
  // Calls `change` when no group is under way, and begins none until it returns.
  Status Alone(const std::function<Status()>& change);
  // Writes what waits, and refuses the rest. Idempotent.
  void Close();

  uint64_t queued_bytes() const { return queued_bytes_; }
  uint64_t queued_batches() const { return queued_batches_; }

 private:
  struct Part {
    WaitingBatch* waiting;
    BigtableBatch::Step* step;
  };

  std::unique_ptr<WaitingBatch> WaitingOf(FoundBatch found, CommitDone done) const;
  void Enqueue(std::unique_ptr<WaitingBatch> waiting);
  void Work();
  // Empty: there is none for now. REQUIRES: mutex_.
  BatchGroup TakeGroup();
  bool GoesAlone(const BigtableBatch& batch) const;
  bool MayJoin(const WaitingBatch& next) const;  // REQUIRES: mutex_.
  void Execute(BatchGroup* group);
  void WriteNotesBefore(BatchGroup* group);
  Status FinishJournal(SteadyTime deadline);
  Status FinishOne(FoundBatch found);
  void WriteRowsOf(BatchGroup* group, bool history);
  void WriteStep(WaitingBatch* waiting, BigtableBatch::Step* step, bool history);
  void WriteFolds(std::vector<Part> parts, SteadyTime deadline);
  void WriteFoldsOnce(const std::vector<Part>& parts, SteadyTime deadline);
  bool MayFold(const Part& part, SteadyTime deadline);
  bool MayCount(WaitingBatch* waiting, const BigtableBatch::Step& step);
  void WriteNotesBehind(BatchGroup* group);
  void SettleCounts(BatchGroup* group);
  static void Answer(WaitingBatch* waiting);

  BigtableClient& client_;
  BigtableCatalogue& catalogue_;
  ClaimRows& claims_;
  Journal& journal_;
  BatchFinder& finder_;
  GroupJournal group_journal_;
  const Clock& clock_;
  const int64_t grain_us_;
  std::atomic<uint64_t> queued_bytes_ = 0;
  std::atomic<uint64_t> queued_batches_ = 0;

  std::mutex mutex_;
  // What follows is guarded by mutex_.
  std::condition_variable changed_;
  std::deque<std::unique_ptr<WaitingBatch>> queue_;
  boost::unordered_flat_set<uint64_t> places_;  // Of the groups that are under way.
  size_t groups_ = 0;                           // So many.
  bool is_alone_ = false;                       // One of them, or a change, has no other beside it.
  size_t wants_alone_ = 0;                      // Changes that wait.
  bool closed_ = false;

  std::mutex close_mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WRITE_BATCH_WRITER_H_
