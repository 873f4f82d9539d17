// LatestJob: takes out of latest tables, in memory and in base, what deletes of many rows hide
// and what is past its family's age, and frees the memory of tables that were dropped.
//
//   1. A pass reads a table, or the range of its deletes, and finds rows of which some must go.
//   2. They are trimmed in pieces, each of which is one commit: the committer looks again at each
//      row, so what was put meanwhile is safe, and writes to base what is left of it.
//   3. When a pass is through, no row holds what its deletes hide. Their records go once the heads
//      that were written to before them are sealed: then nothing on the disk holds it.
//
// A crash in between changes nothing that a reader could tell: rows that are still there are
// hidden, and are found again. Of the sealer's thread.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_LATEST_JOB_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_LATEST_JOB_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/commit/leveldb_batch.h"
#include "storage/leveldb/latest/latest_merge.h"
#include "storage/leveldb/seal/seal_context.h"

namespace tallyd {

class LatestJob final : public SealJob {
 public:
  // `context` outlives the job.
  explicit LatestJob(SealContext* context);
  ~LatestJob() override;
  LatestJob(const LatestJob&) = delete;
  LatestJob& operator=(const LatestJob&) = delete;

  std::string_view name() const override { return "sweeping latest tables"; }
  Result<Progress> Work(const ViewPtr& view) override;
  Time next() const override { return next_; }

  // One piece of work between the steps of another job. The error is one that ends that, too.
  Status Yield();

 private:
  // How old cells of a table get.
  struct Ages {
    std::vector<int64_t> of_family;
    int64_t least = 0;

    static Ages Of(const TableInfo& table);
    TimeUs ExpiryOf(FamilyId family, TimeUs time) const;
    TimeUs FirstExpiry(TimeUs time) const;  // No cell of this time expires before.
  };
  struct Watch {
    TablePtr table;
    Ages ages;
    TimeUs next = 0;  // No cell expires before.
    // The next pass for the sake of ages, but for a settling, each of which has one at most: the
    // last that had one.
    Time not_before;
    uint64_t settled = 0;
  };
  struct Pass {
    TablePtr table;
    uint64_t generation = 0;
    DeleteListPtr deletes;       // Those to be applied are up to `last_delete`.
    uint64_t last_delete = 0;    // 0: none.
    std::vector<TimeUs> oldest;  // By family; empty: ages do not matter.
    KeyRange left;               // What is still to be read.
    TimeUs next = 0;             // The first expiry of what stays.
    Time start;
  };

  bool IsQuiet();
  Time NextLook() const;
  std::optional<Pass> FindPass();
  std::optional<Pass> PassOver(const TablePtr& table);
  uint64_t LastReady(const DeleteList& deletes);
  Result<Progress> WorkOnce();
  Status Step();
  Status FillPiece(LevelDbBatch* batch, bool* more, size_t* bytes);
  Result<bool> Examine(std::string_view key, std::string_view row);
  Status CoverExpiry(std::string_view row);
  void FinishPass();
  Result<Progress> DropRecords();
  Progress SettleHead(const Head& newest);
  Result<Progress> ClearDropped();
  Status ClearTable(TableId table);
  void NoteFreed(size_t bytes);
  void GiveBack();

  SealContext& context_;
  EngineState& state_;
  const size_t rows_at_once_;  // Of one commit, at most.
  LatestMerge merge_;

  std::map<TableId, Watch> watched_;
  std::map<uint64_t, Time> awaited_;  // Deletes, by sequence: since when their readers are.
  bool waits_ = false;                // For some of them.
  std::optional<Pass> pass_;
  // Until then, and while it sees these, there is nothing to do.
  Time next_;
  std::array<uint64_t, 3> seen_{};
  Time yield_not_before_;   // After a failure.
  size_t freed_bytes_ = 0;  // Since memory was given back.

  LatestCopy copy_;
  std::vector<Layer> layers_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_LATEST_JOB_H_
