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
#include "storage/row_store.h"

namespace tallyd {

class BatchWriter {
 public:
  // All outlive it.
  BatchWriter(BigtableClient* client, BigtableCatalogue* catalogue, ClaimRows* claims,
              const Clock* clock, int64_t grain_us);
  ~BatchWriter() { Close(); }

  void Submit(std::unique_ptr<BigtableBatch> batch, CommitDone done);
  // Calls `change` when no group is under way, and begins none until it returns.
  Status Alone(const std::function<Status()>& change);
  // Writes what waits, and refuses the rest. Idempotent.
  void Close();

  uint64_t queued_bytes() const { return queued_bytes_; }
  uint64_t queued_batches() const { return queued_batches_; }

 private:
  struct Waiting {
    std::unique_ptr<BigtableBatch> batch;
    CommitDone done;
    SteadyTime deadline;
    std::vector<uint64_t> places = {};   // Of its rows and memos.
    std::vector<RowFailure> failed = {};
    std::optional<Error> error = {};     // Of all of it.
    bool is_counting = false;            // Its claim says so.
    bool has_counted = false;            // Some of it has, or may have.
  };
  using Group = std::vector<std::unique_ptr<Waiting>>;
  struct Part {
    Waiting* waiting;
    BigtableBatch::Step* step;
  };

  void Work();
  // Empty: there is none for now. REQUIRES: mutex_.
  Group TakeGroup();
  bool MayJoin(const Waiting& next) const;  // REQUIRES: mutex_.
  void Execute(Group* group);
  void WriteNotesBefore(Group* group);
  void WriteRowsOf(Group* group, bool history);
  void WriteStep(Waiting* waiting, BigtableBatch::Step* step, bool history);
  void WriteFolds(const std::vector<Part>& parts, SteadyTime deadline);
  bool MayFold(const Part& part, SteadyTime deadline);
  void WriteNotesBehind(Group* group);
  void SettleCounts(Group* group);
  static void Answer(Waiting* waiting);

  BigtableClient& client_;
  BigtableCatalogue& catalogue_;
  ClaimRows& claims_;
  const Clock& clock_;
  const int64_t grain_us_;
  std::atomic<uint64_t> queued_bytes_ = 0;
  std::atomic<uint64_t> queued_batches_ = 0;

  std::mutex mutex_;
  // What follows is guarded by mutex_.
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Waiting>> queue_;
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
